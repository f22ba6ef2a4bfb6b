#include "stream/kafka/kafka_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAskMs = 10'000;
constexpr int kAskGroupMs = 2'000;
constexpr int kIdleMs = 100;    // how long next() waits for a first record
constexpr int kGrowMs = 2;      // how often a batch whose time is over asks whether it is wanted
constexpr size_t kChunk = 256;  // taken from the library at once

int on_statistics(rd_kafka_t*, char* json, size_t length, void* opaque) {
  static_cast<LatestStatistics*>(opaque)->take({json, length});
  return 0;  // the library frees it
}

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaSource>> KafkaSource::open(const KafkaSourceOptions& options,
                                                               const std::vector<LogProgress>& progress) {
  std::unique_ptr<KafkaSource> source(new KafkaSource(options));
  const std::string kilobytes =
      fmt::format("{}", std::clamp<size_t>(options.queue_bytes >> 10, 1024, 2'097'151));
  ASSIGN_OR_RETURN(source->consumer_,
                   make_consumer(options.client,
                                 {{"group.id", options.group},
                                  {"enable.auto.commit", "false"},
                                  {"enable.auto.offset.store", "false"},
                                  {"auto.offset.reset", "error"},
                                  {"enable.partition.eof", "false"},
                                  {"topic.metadata.refresh.interval.ms", "30000"},
                                  // A full queue stalls 2.0 for a second; newer ones can be told.
                                  {"queued.max.messages.kbytes", kilobytes},
                                  {"queued.min.messages", "1000000"},
                                  {"fetch.queue.backoff.ms?", "5"},
                                  {"statistics.interval.ms", "1000"}},
                                 &on_statistics, source->statistics_.get()));
  source->queue_ = rd_kafka_queue_get_consumer(source->consumer_.get());
  source->statistics_->ask_ends(
      [consumer = source->consumer_.get()](const std::string& topic, int32_t partition) {
        int64_t low = -1, high = -1;
        rd_kafka_get_watermark_offsets(consumer, topic.c_str(), partition, &low,
                                       &high);  // what it knows; asks nobody
        return high;
      });
  RETURN_IF_ERROR(source->add_partitions(progress, true));
  source->report_other_offsets(progress);
  return source;
}

KafkaSource::~KafkaSource() {
  statistics_->ask_ends({});
  release();
  if (queue_ != nullptr) rd_kafka_queue_destroy(queue_);
}

// ---- which partitions, and from where

absl::Status KafkaSource::add_partitions(const std::vector<LogProgress>& progress, bool first) {
  looked_ = Clock::now();
  absl::StatusOr<std::vector<TopicPartitions>> found = find_topics(consumer_.get(), options_.topics);
  if (!found.ok()) {
    if (!first && absl::IsUnavailable(found.status())) return absl::OkStatus();  // later
    return found.status();
  }
  for (const std::string& name : options_.topics) {
    const bool there =
        std::any_of(found->begin(), found->end(), [&](const auto& t) { return t.topic == name; });
    if (!there && !name.starts_with('^')) {
      return absl::NotFoundError(
          fmt::format("the input topic {} {}", name, first ? "does not exist" : "has been deleted"));
    }
  }
  if (found->empty() && first)
    log::warn("no topic fits yet", {{"topics", absl::StrJoin(options_.topics, " ")}});

  PartitionList added(rd_kafka_topic_partition_list_new(16));
  for (const TopicPartitions& topic : *found) {
    for (const int32_t partition : topic.partitions) {
      if (partitions_.contains({topic.topic, partition})) continue;
      const auto known = std::find_if(progress.begin(), progress.end(), [&](const LogProgress& p) {
        return p.topic == topic.topic && p.partition == partition;
      });
      int64_t from = 0;
      // A partition that came after its topic's others is read from its beginning, whatever kafka.start says.
      const bool latest = first && options_.from_latest &&
                          std::none_of(progress.begin(), progress.end(),
                                       [&](const LogProgress& p) { return p.topic == topic.topic; });
      absl::StatusOr<Partition> placed =
          place(topic.topic, partition, known == progress.end() ? nullptr : &*known, latest, from);
      if (!first && absl::IsUnavailable(placed.status())) continue;  // later
      RETURN_IF_ERROR(placed.status());
      partitions_.emplace(Name{topic.topic, partition}, *placed);
      if (first && known == progress.end())
        beginnings_.push_back({.topic = topic.topic, .partition = partition, .next = placed->next});
      rd_kafka_topic_partition_list_add(added.get(), topic.topic.c_str(), partition)->offset = from;
      if (!first) log::info("a new partition", {{"topic", topic.topic}, {"partition", partition}});
    }
  }
  if (added->cnt == 0) return absl::OkStatus();
  if (first) {
    const rd_kafka_resp_err_t code = rd_kafka_assign(consumer_.get(), added.get());
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : error("kafka: assign", code);
  }
  return error("kafka: assign", rd_kafka_incremental_assign(consumer_.get(), added.get()));
}

absl::StatusOr<KafkaSource::Partition> KafkaSource::place(const std::string& topic, int32_t partition,
                                                          const LogProgress* progress, bool latest,
                                                          int64_t& from) {
  ASSIGN_OR_RETURN(const Watermarks marks, watermarks(consumer_.get(), topic, partition, kAskMs));
  auto name = topic_names_.find(topic);
  if (name == topic_names_.end())
    name = topic_names_.emplace(topic, std::make_unique<std::string>(topic)).first;
  Partition out{.topic = name->second.get()};
  if (progress == nullptr) {
    from = out.next = latest ? marks.high : marks.low;
    return out;
  }
  out.next = progress->next;
  if (out.next > marks.high) {
    return absl::FailedPreconditionError(
        fmt::format("{0}/{1} ends at offset {2}, but it was read up to {3} before: the topic was deleted and "
                    "made anew, or lost "
                    "records. To start over with it, use a new index log and state directory (doppel rebuild "
                    "--from documents)",
                    topic, partition, marks.high, out.next));
  }
  if (out.next < marks.low) {
    const std::string message = fmt::format(
        "{}/{} begins at offset {}, but it was read only up to {}: {} records were deleted unread", topic,
        partition, marks.low, out.next, marks.low - out.next);
    if (!options_.continue_after_loss) {
      return absl::FailedPreconditionError(message +
                                           "; to go on without them, set kafka.on_data_loss: continue");
    }
    log::error("input is lost", {{"says", message}});
    out.next = marks.low;
  }
  from = out.next;
  if (out.next > marks.low && progress->last_ms >= 0) {
    from = out.next - 1;
    out.check_ms = progress->last_ms;
  }
  return out;
}

// The group's offsets decide nothing. Where they differ somebody moved them, and may wonder. A broker that
// has not marked the last ones as committed does not tell them; they are not waited for.
void KafkaSource::report_other_offsets(const std::vector<LogProgress>& progress) {
  if (progress.empty()) return;
  const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(progress.size())));
  for (const LogProgress& p : progress)
    rd_kafka_topic_partition_list_add(list.get(), p.topic.c_str(), p.partition);
  if (rd_kafka_committed(consumer_.get(), list.get(), kAskGroupMs) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  for (int i = 0; i < list->cnt; ++i) {
    const int64_t offset = list->elems[i].offset;
    if (offset == progress[i].next) continue;
    log::warn("the group's offset is not where the index log is; it is ignored",
              {{"topic", progress[i].topic},
               {"partition", progress[i].partition},
               {"group_offset", offset},
               {"index_log", progress[i].next}});
  }
}

// ---- a batch

absl::StatusOr<bool> KafkaSource::next(Batch& batch) {
  batch = {};
  if (Clock::now() - looked_ > std::chrono::milliseconds(options_.metadata_ms))
    RETURN_IF_ERROR(add_partitions({}, false));
  absl::Status status = gather();
  if (!status.ok()) {
    release();
    return status;
  }
  hand_over(batch);
  return true;
}

absl::Status KafkaSource::gather() {
  std::array<rd_kafka_message_t*, kChunk> chunk;
  Clock::time_point deadline;
  while (gathered_.size() < options_.batch_records && gathered_bytes_ < options_.batch_bytes) {
    const bool any = !gathered_.empty();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const bool over = any && left <= 0;
    if (over && (!wanted_ || wanted_())) break;
    // One record first: only then does the batch's time begin.
    const size_t wanted = any ? std::min(kChunk, options_.batch_records - gathered_.size()) : 1;
    const int wait_ms = over ? kGrowMs : any ? static_cast<int>(left) : kIdleMs;
    const ssize_t n = rd_kafka_consume_batch_queue(queue_, wait_ms, chunk.data(), wanted);
    absl::Status status;
    for (ssize_t i = 0; i < n; ++i) {
      if (status.ok())
        status = take(chunk[i]);
      else
        rd_kafka_message_destroy(chunk[i]);
    }
    RETURN_IF_ERROR(status);
    if (gathered_.empty()) break;
    if (!any) deadline = Clock::now() + std::chrono::milliseconds(options_.linger_ms);
  }
  return absl::OkStatus();
}

absl::Status KafkaSource::take(rd_kafka_message_t* m) {
  if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    absl::Status status = source_error(m);
    rd_kafka_message_destroy(m);
    return status;
  }
  const auto it = partitions_.find({rd_kafka_topic_name(m->rkt), m->partition});
  if (it == partitions_.end()) {
    rd_kafka_message_destroy(m);
    return absl::OkStatus();
  }
  Partition& partition = it->second;
  if (m->offset < partition.next) {
    const bool same =
        m->offset == partition.next - 1 && rd_kafka_message_timestamp(m, nullptr) == partition.check_ms;
    const int64_t offset = m->offset;
    rd_kafka_message_destroy(m);
    if (same) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format(
        "{}/{} holds another record at offset {} than the one that was read: the topic was deleted and made "
        "anew. To "
        "start over with it, use a new index log and state directory (doppel rebuild --from documents)",
        *partition.topic, it->first.second, offset));
  }
  partition.next = m->offset + 1;
  gathered_.push_back({m, partition.topic});
  gathered_bytes_ += size_of(m);
  return absl::OkStatus();
}

absl::Status KafkaSource::source_error(const rd_kafka_message_t* m) {
  const std::string place = m->rkt != nullptr
                                ? fmt::format("{}/{}", rd_kafka_topic_name(m->rkt), m->partition)
                                : std::string("kafka");
  switch (m->err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      return absl::OkStatus();
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET: {
      const std::string message = fmt::format("{}: records were deleted before they were read ({})", place,
                                              rd_kafka_message_errstr(m));
      return absl::FailedPreconditionError(
          message + "; to go on without them, set kafka.on_data_loss: continue and start again");
    }
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return absl::NotFoundError(fmt::format("{}: the input topic has been deleted", place));
    default:
      break;
  }
  absl::Status status = error(place, m->err, rd_kafka_message_errstr(m));
  if (absl::IsUnavailable(status)) {  // the library goes on by itself
    log::warn("input waits for the broker", {{"says", std_sv(status.message())}});
    return absl::OkStatus();
  }
  return status;
}

// Sorts what was gathered and copies it: parsers read past the end of a value, and the library gets its
// memory back.
void KafkaSource::hand_over(Batch& batch) {
  std::sort(gathered_.begin(), gathered_.end(), [](const Gathered& a, const Gathered& b) {
    const int names = a.topic == b.topic ? 0 : a.topic->compare(*b.topic);
    return names != 0 ? names < 0
                      : std::tie(a.message->partition, a.message->offset) <
                            std::tie(b.message->partition, b.message->offset);
  });
  copy_records(gathered_, pool_, batch);
  bytes_read_ += batch.bytes;
  release();
}

void KafkaSource::release() {
  for (const Gathered& g : gathered_) rd_kafka_message_destroy(g.message);
  gathered_.clear();
  gathered_bytes_ = 0;
}

}  // namespace doppel::kafka
