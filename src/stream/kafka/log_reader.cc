#include "stream/kafka/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr int kAskMs = 10'000;       // for one question to the broker
constexpr int kSilenceMs = 60'000;   // without a record, while there should be some
constexpr size_t kMessages = 1'000;  // taken at once

struct DestroyQueue {
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
};

}  // namespace

absl::StatusOr<LogReader> LogReader::open(const ClientOptions& options, const std::string& topic,
                                          int32_t partition) {
  return make(options, topic, partition, "read_committed");
}

absl::StatusOr<LogReader> LogReader::open_uncommitted(const ClientOptions& options, const std::string& topic,
                                                      int32_t partition) {
  return make(options, topic, partition, "read_uncommitted");
}

absl::StatusOr<LogReader> LogReader::make(const ClientOptions& options, const std::string& topic,
                                          int32_t partition, const std::string& isolation) {
  ASSIGN_OR_RETURN(Client client, make_consumer(options, {{"group.id", "doppel-index-log"},
                                                          {"enable.auto.commit", "false"},
                                                          {"enable.auto.offset.store", "false"},
                                                          {"isolation.level", isolation},
                                                          {"auto.offset.reset", "error"},
                                                          {"enable.partition.eof", "true"},
                                                          {"check.crcs", "true"},
                                                          // Behind the last record stands the end of its
                                                          // transaction: only an empty answer tells that we
                                                          // are there, and the broker is to give it at once.
                                                          {"fetch.wait.max.ms", "10"},
                                                          {"queued.max.messages.kbytes", "262144"},
                                                          {"queued.min.messages", "1000000"},
                                                          {"fetch.queue.backoff.ms?", "5"}}));
  return LogReader(std::move(client), options, topic, partition);
}

absl::StatusOr<Watermarks> LogReader::bounds() {
  return watermarks(client_.get(), topic_, partition_, kAskMs);
}

absl::Status LogReader::seek(int64_t from) {
  PartitionList list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), partition_)->offset = from;
  const rd_kafka_resp_err_t code = rd_kafka_assign(client_.get(), list.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error("cannot read " + topic_, code);
  return absl::OkStatus();
}

absl::Status LogReader::read(int64_t from, int64_t to,
                             const std::function<absl::Status(const LogMessage&)>& visit) {
  if (from >= to) return absl::OkStatus();
  RETURN_IF_ERROR(seek(from));
  const std::unique_ptr<rd_kafka_queue_t, DestroyQueue> queue(rd_kafka_queue_get_consumer(client_.get()));
  std::vector<rd_kafka_message_t*> messages(kMessages);
  absl::Status status;
  bool done = false;
  int silent_ms = 0;
  while (!done && status.ok()) {
    constexpr int kWaitMs = 10;  // it waits for so long if fewer messages are there than are asked for
    const ssize_t n = rd_kafka_consume_batch_queue(queue.get(), kWaitMs, messages.data(), messages.size());
    silent_ms = n == 0 ? silent_ms + kWaitMs : 0;
    if (silent_ms >= kSilenceMs) {
      status = absl::UnavailableError(
          fmt::format("{}: no record for {} s, with {} to be read", topic_, kSilenceMs / 1000, to - from));
    }
    for (ssize_t i = 0; i < n; ++i) {
      rd_kafka_message_t* m = messages[i];
      if (!done && status.ok()) {
        if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
          done = m->offset >= to;
        } else if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
          status = error(fmt::format("{} at offset {}", topic_, from), m->err, rd_kafka_message_errstr(m));
          if (absl::IsUnavailable(status)) status = absl::OkStatus();  // the library goes on by itself
        } else if (m->offset >= to) {
          done = true;
        } else {
          LogMessage out{.key = {static_cast<const char*>(m->key), m->key_len},
                         .value = {static_cast<const char*>(m->payload), m->len},
                         .has_value = m->payload != nullptr,
                         .offset = m->offset,
                         .timestamp_ms = rd_kafka_message_timestamp(m, nullptr)};
          status = visit(out);
          from = m->offset + 1;
          done = from >= to;
        }
      }
      rd_kafka_message_destroy(m);
    }
  }
  rd_kafka_assign(client_.get(), nullptr);
  return status;
}

}  // namespace doppel::kafka
