#include "stream/kafka/merge_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/bytes.h"
#include "base/status.h"
#include "stream/kafka/records.h"
#include "stream/kafka/topics.h"

namespace doppel::kafka {
namespace {

constexpr int kAskMs = 10'000;
constexpr int kWaitMs = 10;  // it waits for so long if fewer records are there than are asked for
constexpr int kSilenceMs = 60'000;
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

absl::StatusOr<std::vector<Bounds>> freeze_bounds(const ClientOptions& client,
                                                  const std::vector<std::string>& topics, int64_t from_offset,
                                                  int64_t from_ms) {
  ASSIGN_OR_RETURN(const Client consumer, make_consumer(client, {{"group.id", "doppel-rebuild"},
                                                                 {"enable.auto.commit", "false"},
                                                                 {"isolation.level", "read_committed"}}));
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> found, find_topics(consumer.get(), topics));
  for (const std::string& name : topics) {
    const bool there =
        std::any_of(found.begin(), found.end(), [&](const auto& t) { return t.topic == name; });
    if (!there && !name.starts_with('^'))
      return absl::NotFoundError(fmt::format("the topic {} does not exist", name));
  }
  std::vector<Bounds> out;
  for (const TopicPartitions& topic : found) {
    for (const int32_t partition : topic.partitions) {
      ASSIGN_OR_RETURN(const Watermarks marks, watermarks(consumer.get(), topic.topic, partition, kAskMs));
      int64_t begin = std::max(from_offset, marks.low);
      if (from_ms >= 0) {
        const PartitionList list(rd_kafka_topic_partition_list_new(1));
        rd_kafka_topic_partition_list_add(list.get(), topic.topic.c_str(), partition)->offset = from_ms;
        const rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(consumer.get(), list.get(), kAskMs);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
          return error("cannot look up offsets by time in " + topic.topic, code);
        begin = list->elems[0].offset < 0 ? marks.high : list->elems[0].offset;
      }
      out.push_back({topic.topic, partition, std::min(begin, marks.high), marks.high});
    }
  }
  return out;
}

absl::StatusOr<std::unique_ptr<MergeSource>> MergeSource::open(const MergeOptions& options,
                                                               const std::vector<Bounds>& bounds,
                                                               const std::vector<LogProgress>& progress) {
  std::unique_ptr<MergeSource> source(new MergeSource(options));
  ASSIGN_OR_RETURN(
      source->consumer_,
      make_consumer(options.client, {{"group.id", "doppel-rebuild"},
                                     {"enable.auto.commit", "false"},
                                     {"enable.auto.offset.store", "false"},
                                     {"auto.offset.reset", "error"},
                                     {"enable.partition.eof", "true"},
                                     {"fetch.wait.max.ms", "10"},  // the end is told by an empty answer
                                     {"queued.max.messages.kbytes", "65536"},
                                     {"fetch.queue.backoff.ms?", "5"}}));
  const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(bounds.size()) + 1));
  for (const Bounds& b : bounds) {
    auto partition = std::make_unique<Partition>();
    partition->bounds = b;
    partition->next = b.begin;
    for (const LogProgress& p : progress) {
      if (p.topic == b.topic && p.partition == b.partition) partition->next = std::max(p.next, b.begin);
    }
    source->records_total_ += static_cast<uint64_t>(b.end - b.begin);
    source->records_read_ += static_cast<uint64_t>(std::min(partition->next, b.end) - b.begin);
    if (partition->next < b.end) {
      // Each partition keeps its own queue: the merge decides which is read.
      partition->queue = rd_kafka_queue_get_partition(source->consumer_.get(), b.topic.c_str(), b.partition);
      rd_kafka_queue_forward(partition->queue, nullptr);
      rd_kafka_topic_partition_list_add(list.get(), b.topic.c_str(), b.partition)->offset = partition->next;
    }
    source->partitions_.push_back(std::move(partition));
  }
  const rd_kafka_resp_err_t code = rd_kafka_assign(source->consumer_.get(), list.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error("kafka: assign", code);
  return source;
}

MergeSource::~MergeSource() {
  for (const auto& partition : partitions_) {
    for (rd_kafka_message_t* m : partition->heads) rd_kafka_message_destroy(m);
    if (partition->queue != nullptr) rd_kafka_queue_destroy(partition->queue);
  }
}

// At least one record in `heads`, or the partition is done.
absl::Status MergeSource::fetch(Partition& p) {
  std::array<rd_kafka_message_t*, kChunk> chunk;
  for (int silent_ms = 0; p.heads.empty() && p.next < p.bounds.end;) {
    if (options_.stop()) return absl::CancelledError("stopped");
    rd_kafka_poll(consumer_.get(), 0);
    const ssize_t n = rd_kafka_consume_batch_queue(p.queue, kWaitMs, chunk.data(), chunk.size());
    silent_ms = n == 0 ? silent_ms + kWaitMs : 0;
    const std::string place = fmt::format("{}/{} at offset {}", p.bounds.topic, p.bounds.partition, p.next);
    if (silent_ms > kSilenceMs) return absl::UnavailableError(place + ": no record for a minute");
    absl::Status status;
    for (ssize_t i = 0; i < n; ++i) {
      rd_kafka_message_t* m = chunk[i];
      const bool wanted = status.ok() && m->err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset < p.bounds.end;
      if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF || (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && !wanted)) {
        if (m->offset >= p.bounds.end) p.next = p.bounds.end;
      } else if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        status = error(place, m->err, rd_kafka_message_errstr(m));
        if (absl::IsUnavailable(status)) status = absl::OkStatus();  // the library goes on by itself
      }
      if (wanted) {
        p.heads.push_back(m);
        p.next = m->offset + 1;
      } else {
        rd_kafka_message_destroy(m);
      }
    }
    RETURN_IF_ERROR(status);
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
        return std::tuple(rd_kafka_message_timestamp(x.heads.front(), nullptr),
                          std::cref(x.bounds.topic).get(), x.bounds.partition);
      };
      if (least == nullptr || rank(*p) < rank(*least)) least = p.get();
    }
    if (!status.ok() || least == nullptr) break;
    gathered.push_back({least->heads.front(), &least->bounds.topic});
    bytes += size_of(least->heads.front());
    least->heads.pop_front();
  }
  if (status.ok() || absl::IsCancelled(status)) {
    if (status.ok()) copy_records(gathered, pool_, batch);
    records_read_ += batch.records.size();
  }
  for (const Gathered& g : gathered) rd_kafka_message_destroy(g.message);
  if (absl::IsCancelled(status)) return false;
  if (!status.ok()) return status;
  return !batch.records.empty();
}

}  // namespace doppel::kafka
