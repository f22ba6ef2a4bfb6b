#include "kafka/merge_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"
#include "kafka/records.h"

namespace doppel::kafka {
namespace {

constexpr int kWaitMs = 10;  // how long a poll waits for more records
constexpr std::chrono::seconds kSilence(60);
constexpr size_t kChunk = 500;

}  // namespace

std::string encode_bounds(const std::vector<Bounds>& bounds) {
  std::string out;
  put_varint(out, bounds.size());
  for (const Bounds& b : bounds) {
    put_string(out, b.topic);
    put_varint(out, static_cast<uint64_t>(b.partition));
    put_varint(out, static_cast<uint64_t>(b.begin));
    put_varint(out, static_cast<uint64_t>(b.end));
  }
  return out;
}

absl::StatusOr<std::vector<Bounds>> decode_bounds(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<Bounds> out;
  const uint64_t n = in.varint();
  for (uint64_t i = 0; i < n && in.ok(); ++i) {
    Bounds& b = out.emplace_back();
    b.topic = in.string();
    b.partition = static_cast<int32_t>(in.varint());
    b.begin = static_cast<int64_t>(in.varint());
    b.end = static_cast<int64_t>(in.varint());
  }
  if (!in.done()) return absl::DataLossError("the bounds of the rebuild are damaged");
  return out;
}

absl::StatusOr<std::vector<Bounds>> freeze_bounds(Cluster& cluster, const Inputs& topics, int64_t from_offset,
                                                  int64_t from_ms) {
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> found, find_topics(cluster, topics));
  for (const std::string& name : topics.names) {
    const bool there =
        std::any_of(found.begin(), found.end(), [&](const auto& t) { return t.topic == name; });
    if (!there && !name.starts_with('^'))
      return absl::NotFoundError(fmt::format("the topic {} does not exist", name));
  }
  std::vector<Bounds> out;
  for (const TopicPartitions& topic : found) {
    for (const int32_t partition : topic.partitions) {
      const TopicPartition place{topic.topic, partition};
      ASSIGN_OR_RETURN(const Watermarks marks, cluster.watermarks(place, Isolation::committed));
      int64_t begin = std::max(from_offset, marks.low);
      if (from_ms >= 0) {
        ASSIGN_OR_RETURN(const int64_t at, cluster.offset_at(place, from_ms));
        begin = at < 0 ? marks.high : at;
      }
      out.push_back({topic.topic, partition, std::min(begin, marks.high), marks.high});
    }
  }
  return out;
}

absl::StatusOr<std::unique_ptr<MergeSource>> MergeSource::open(Cluster& cluster, const MergeOptions& options,
                                                               const std::vector<Bounds>& bounds,
                                                               const std::vector<LogProgress>& progress) {
  std::unique_ptr<MergeSource> source(new MergeSource(options));
  ASSIGN_OR_RETURN(source->consumer_, cluster.consumer({.group = "doppel-rebuild",
                                                        .ends = true,
                                                        // Each partition needs its own queue, because the
                                                        // merge decides which one to read.
                                                        .separate = true,
                                                        .queue_bytes = 64 << 20}));
  std::vector<Consumer::Assignment> wanted;
  for (const Bounds& b : bounds) {
    auto partition = std::make_unique<Partition>();
    partition->bounds = b;
    partition->next = b.begin;
    partition->tag = static_cast<uint32_t>(source->partitions_.size());
    for (const LogProgress& p : progress) {
      if (p.topic == b.topic && p.partition == b.partition) partition->next = std::max(p.next, b.begin);
    }
    source->records_total_ += static_cast<uint64_t>(b.end - b.begin);
    source->records_read_ += static_cast<uint64_t>(std::min(partition->next, b.end) - b.begin);
    if (partition->next < b.end)
      wanted.push_back({.place = {b.topic, b.partition}, .from = partition->next, .tag = partition->tag});
    source->partitions_.push_back(std::move(partition));
  }
  RETURN_IF_ERROR(source->consumer_->assign(wanted));
  return source;
}

MergeSource::~MergeSource() {
  for (const auto& partition : partitions_) {
    for (const Incoming& r : partition->heads) consumer_->release({&r, 1});
  }
}

// Polls until `heads` has a record or the partition is done.
absl::Status MergeSource::fetch(Partition& p) {
  Clock::time_point last = Clock::now();
  while (p.heads.empty() && p.next < p.bounds.end) {
    if (options_.stop()) return absl::CancelledError("stopped");
    chunk_.clear();
    absl::Status status = consumer_->poll(kChunk, kWaitMs, chunk_, p.tag);
    if (absl::IsUnavailable(status)) status = absl::OkStatus();  // the consumer recovers by itself
    for (const Incoming& r : chunk_) {
      if (!r.end && r.offset < p.bounds.end) {
        p.heads.push_back(r);
        p.next = r.offset + 1;
        continue;
      }
      if (r.offset >= p.bounds.end) p.next = p.bounds.end;
      consumer_->release({&r, 1});
    }
    RETURN_IF_ERROR(status);
    if (!chunk_.empty()) last = Clock::now();
    if (Clock::now() - last > kSilence) {
      return absl::UnavailableError(fmt::format("{}/{} at offset {}: no record for a minute", p.bounds.topic,
                                                p.bounds.partition, p.next));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MergeSource::next(Batch& batch) {
  batch = {};
  std::vector<Gathered> gathered;
  size_t bytes = 0;
  absl::Status status;
  while (status.ok() && gathered.size() < options_.batch_records && bytes < options_.batch_bytes) {
    Partition* least = nullptr;
    for (const auto& p : partitions_) {
      if (p->heads.empty()) status = fetch(*p);
      if (!status.ok()) break;
      if (p->heads.empty()) continue;
      const auto rank = [](const Partition& x) {
        return std::tuple(x.heads.front().timestamp_ms, std::cref(x.bounds.topic).get(), x.bounds.partition);
      };
      if (least == nullptr || rank(*p) < rank(*least)) least = p.get();
    }
    if (!status.ok() || least == nullptr) break;
    gathered.push_back({least->heads.front(), &least->bounds.topic, least->bounds.partition});
    bytes += least->heads.front().bytes();
    least->heads.pop_front();
  }
  if (status.ok()) copy_records(*consumer_, gathered, pool_, batch);
  records_read_ += batch.records.size();
  for (const Gathered& g : gathered) consumer_->release({&g.record, 1});
  if (absl::IsCancelled(status)) return false;
  if (!status.ok()) return status;
  return !batch.records.empty();
}

}  // namespace doppel::kafka
