#include "kafka/librdkafka/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr size_t kChunk = 1'000;  // most records of one poll
constexpr int kLookUpMs = 1'000;  // time limit of a look-up of topics

struct DestroyQueue {
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
};
using Queue = std::unique_ptr<rd_kafka_queue_t, DestroyQueue>;

int on_statistics(rd_kafka_t*, char* json, size_t length, void* opaque) {
  static_cast<LatestStatistics*>(opaque)->take({json, length});
  return 0;  // the library frees `json`
}

Settings settings_of(const ConsumerOptions& o) {
  const size_t kilobytes = std::clamp<size_t>(o.queue_bytes >> 10, 1024, 2'097'151);
  Settings out{
      {"group.id", o.group},
      {"enable.auto.commit", "false"},
      {"enable.auto.offset.store", "false"},
      {"auto.offset.reset", "error"},
      {"isolation.level", o.isolation == Isolation::committed ? "read_committed" : "read_uncommitted"},
      {"enable.partition.eof", o.ends ? "true" : "false"},
      {"topic.metadata.refresh.interval.ms", "30000"},
      // A full queue stalls version 2.0 for a second; newer versions have a setting against it.
      {"queued.max.messages.kbytes", fmt::format("{}", kilobytes)},
      {"queued.min.messages", "1000000"},
      {"fetch.queue.backoff.ms?", "5"}};
  if (o.check_crcs) out.emplace_back("check.crcs", "true");
  // A transaction marker follows the last record, so only an empty answer shows that we are at the end. The
  // broker should send it at once.
  if (o.ends) out.emplace_back("fetch.wait.max.ms", "10");
  // A broker sends at least one batch, whatever this limit. A low queued.min.messages would stall the next
  // fetch for a second instead.
  if (o.single_records) out.emplace_back("fetch.message.max.bytes", "16384");
  if (o.statistics != nullptr) out.emplace_back("statistics.interval.ms", "1000");
  return out;
}

class LibraryConsumer final : public Consumer {
 public:
  explicit LibraryConsumer(const ConsumerOptions& options) : separate_(options.separate) {}
  ~LibraryConsumer() override {
    parts_.clear();
    queue_.reset();
  }

  absl::Status open(const ClientOptions& client, const ConsumerOptions& options) {
    ASSIGN_OR_RETURN(
        client_, make_consumer(client, settings_of(options),
                               options.statistics != nullptr ? &on_statistics : nullptr, options.statistics));
    queue_.reset(rd_kafka_queue_get_consumer(client_.get()));
    return absl::OkStatus();
  }

  absl::Status assign(const std::vector<Assignment>& more) override {
    look_up(more);
    const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(more.size()) + 1));
    for (const Assignment& a : more) {
      Part& part = parts_[a.place];
      part.tag = a.tag;
      if (separate_) {
        part.queue.reset(
            rd_kafka_queue_get_partition(client_.get(), a.place.topic.c_str(), a.place.partition));
        rd_kafka_queue_forward(part.queue.get(), nullptr);
      }
      rd_kafka_topic_partition_list_add(list.get(), a.place.topic.c_str(), a.place.partition)->offset =
          a.from;
    }
    if (!assigned_) {
      assigned_ = true;
      const rd_kafka_resp_err_t code = rd_kafka_assign(client_.get(), list.get());
      return code == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : error("kafka: assign", code);
    }
    rd_kafka_error_t* failed = rd_kafka_incremental_assign(client_.get(), list.get());
    if (failed == nullptr) return absl::OkStatus();
    absl::Status status = error("kafka: assign", rd_kafka_error_code(failed), rd_kafka_error_string(failed));
    rd_kafka_error_destroy(failed);
    return status;
  }

  void unassign() override {
    rd_kafka_assign(client_.get(), nullptr);
    assigned_ = false;
    parts_.clear();
    topics_.clear();
  }

  absl::Status poll(size_t max, int wait_ms, std::vector<Incoming>& out,
                    std::optional<uint32_t> tag) override {
    std::array<rd_kafka_message_t*, kChunk> chunk;
    rd_kafka_queue_t* queue = queue_.get();
    if (tag) {
      rd_kafka_poll(client_.get(), 0);
      for (const auto& [place, part] : parts_)
        if (part.tag == *tag) queue = part.queue.get();
    }
    const ssize_t n = rd_kafka_consume_batch_queue(queue, wait_ms, chunk.data(), std::min(max, kChunk));
    absl::Status status;
    for (ssize_t i = 0; i < n; ++i) {
      const absl::Status taken = take(chunk[i], out);  // records that follow an error are as good as others
      if (status.ok()) status = taken;
    }
    return status;
  }

  void headers(const Incoming& record, std::vector<Header>& out) override {
    rd_kafka_headers_t* headers = nullptr;
    auto* m = static_cast<rd_kafka_message_t*>(record.handle);
    if (rd_kafka_message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    const char* name = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    for (size_t h = 0;
         rd_kafka_header_get_all(headers, h, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++h) {
      Header& header = out.emplace_back(Header{name, std::nullopt});
      if (value != nullptr) header.value = std::string_view(static_cast<const char*>(value), size);
    }
  }

  void release(std::span<const Incoming> records) override {
    for (const Incoming& record : records)
      if (record.handle != nullptr) rd_kafka_message_destroy(static_cast<rd_kafka_message_t*>(record.handle));
  }

  int64_t known_end(const TopicPartition& place) override {
    int64_t low = -1, high = -1;
    rd_kafka_get_watermark_offsets(client_.get(), place.topic.c_str(), place.partition, &low, &high);
    return high;
  }

  absl::StatusOr<std::vector<GroupOffset>> group_offsets(const std::vector<TopicPartition>& places,
                                                         int wait_ms) override {
    const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(places.size()) + 1));
    for (const TopicPartition& place : places)
      rd_kafka_topic_partition_list_add(list.get(), place.topic.c_str(), place.partition);
    const rd_kafka_resp_err_t code = rd_kafka_committed(client_.get(), list.get(), wait_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error("kafka: the group's offsets", code);
    std::vector<GroupOffset> out;
    out.reserve(places.size());
    for (int i = 0; i < list->cnt; ++i) {
      const rd_kafka_topic_partition_t& at = list->elems[i];
      GroupOffset& offset = out.emplace_back(GroupOffset{.offset = std::max<int64_t>(at.offset, -1)});
      if (at.metadata != nullptr)
        offset.note.assign(static_cast<const char*>(at.metadata),
                           ::strnlen(static_cast<const char*>(at.metadata), at.metadata_size));
    }
    return out;
  }

  void move_group(const std::vector<std::pair<TopicPartition, GroupOffset>>& to) override {
    const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(to.size()) + 1));
    for (const auto& [place, offset] : to) add_offset(list.get(), place, offset);
    rd_kafka_commit(client_.get(), list.get(), 1);
  }

 private:
  struct Part {
    uint32_t tag = 0;
    Queue queue;  // only with `separate`
  };

  // Asks for the topics that the library does not know: it would look for their leaders once a second.
  void look_up(const std::vector<Assignment>& assignments) {
    std::vector<TopicHandle> handles;
    for (const Assignment& a : assignments)
      if (known_.insert(a.place.topic).second)
        handles.emplace_back(rd_kafka_topic_new(client_.get(), a.place.topic.c_str(), nullptr));
    if (handles.empty()) return;
    const rd_kafka_metadata_t* found = nullptr;
    // All topics with a handle. Without an answer the library looks for them itself.
    if (rd_kafka_metadata(client_.get(), 0, nullptr, &found, kLookUpMs) == RD_KAFKA_RESP_ERR_NO_ERROR)
      rd_kafka_metadata_destroy(found);
  }

  absl::Status take(rd_kafka_message_t* m, std::vector<Incoming>& out) {
    if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR || m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      const std::optional<uint32_t> tag = tag_of(m);
      if (tag && m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        out.push_back({.tag = *tag, .end = true, .offset = m->offset});
      } else if (tag) {
        Incoming& record = out.emplace_back(Incoming{.tag = *tag, .offset = m->offset});
        record.null_value = m->payload == nullptr;
        record.timestamp_ms = rd_kafka_message_timestamp(m, nullptr);
        if (m->key != nullptr) record.key = std::string_view(static_cast<const char*>(m->key), m->key_len);
        if (m->payload != nullptr) record.value = {static_cast<const char*>(m->payload), m->len};
        record.handle = m;
        return absl::OkStatus();
      }
      rd_kafka_message_destroy(m);
      return absl::OkStatus();
    }
    std::string place = "kafka";
    if (m->rkt != nullptr) place = fmt::format("{}/{}", rd_kafka_topic_name(m->rkt), m->partition);
    absl::Status status = error(place, m->err, rd_kafka_message_errstr(m));
    rd_kafka_message_destroy(m);
    return status;
  }

  // Looks up the library's topic handle, which saves a string for each record.
  std::optional<uint32_t> tag_of(const rd_kafka_message_t* m) {
    const std::pair key{m->rkt, m->partition};
    if (key == last_key_ && !topics_.empty()) return last_tag_;
    auto known = topics_.find(key);
    if (known == topics_.end()) {
      const auto part = parts_.find({rd_kafka_topic_name(m->rkt), m->partition});
      if (part == parts_.end()) return std::nullopt;
      known = topics_.emplace(key, part->second.tag).first;
    }
    last_key_ = key;
    last_tag_ = known->second;
    return last_tag_;
  }

  bool separate_;
  bool assigned_ = false;
  Client client_;
  Queue queue_;
  std::map<TopicPartition, Part> parts_;
  std::set<std::string> known_;  // topics that were looked up
  std::map<std::pair<rd_kafka_topic_t*, int32_t>, uint32_t> topics_;
  std::pair<rd_kafka_topic_t*, int32_t> last_key_;
  uint32_t last_tag_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Consumer>> library_consumer(const ClientOptions& client,
                                                           const ConsumerOptions& options) {
  auto out = std::make_unique<LibraryConsumer>(options);
  RETURN_IF_ERROR(out->open(client, options));
  return out;
}

}  // namespace doppel::kafka
