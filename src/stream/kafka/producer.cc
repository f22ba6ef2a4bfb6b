#include "stream/kafka/producer.h"

#include <fmt/format.h>

#include <chrono>
#include <map>

#include "base/kill_point.h"
#include "base/log.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTryMs = 10'000;  // for one call to the broker

// What is to be done after an error of a transaction's call. Flags decide, not codes: one and the same
// time-out comes with every meaning.
bool try_again(const rd_kafka_error_t* error) {
  return rd_kafka_error_is_fatal(error) == 0 && rd_kafka_error_txn_requires_abort(error) == 0 &&
         rd_kafka_error_is_retriable(error) != 0;
}

void delivered(rd_kafka_t*, const rd_kafka_message_t* report, void*) {
  if (report->err != RD_KAFKA_RESP_ERR_NO_ERROR || report->_private == nullptr) return;
  auto* message = static_cast<Outbox::Message*>(report->_private);
  message->stored_in = report->partition;
  message->offset = std::max<int64_t>(report->offset, -1);
}

void connection_broke(rd_kafka_t*, int, const char*, void* troubled) { *static_cast<bool*>(troubled) = true; }

}  // namespace

absl::Status Producer::begin_anew() {
  producer_.reset();
  const Settings settings{
      {"transactional.id", options_.transactional_id},
      {"transaction.timeout.ms", fmt::format("{}", options_.transaction_timeout_ms)},
      {"message.max.bytes", fmt::format("{}", options_.message_bytes_max)},
      {"queue.buffering.max.messages", "10000000"},
      {"queue.buffering.max.kbytes", "2097151"},
      {"linger.ms", "5"},
  };
  ASSIGN_OR_RETURN(producer_,
                   make_producer(options_.client, settings, delivered, connection_broke, &troubled_));
  const auto start = Clock::now();
  bool told = false;
  while (true) {
    rd_kafka_error_t* failed = rd_kafka_init_transactions(producer_.get(), kTryMs);
    if (failed == nullptr) return absl::OkStatus();
    const bool again = rd_kafka_error_is_retriable(failed) != 0 && rd_kafka_error_is_fatal(failed) == 0;
    absl::Status status = error("kafka: init_transactions for " + options_.transactional_id, failed);
    if (!again) return status;
    if (stop_()) return absl::CancelledError("stopped while waiting for Kafka");
    if (!told || Clock::now() - start > std::chrono::minutes(1)) {
      log::warn("waiting for Kafka",
                {{"brokers", options_.client.brokers}, {"says", std_sv(status.message())}});
      told = true;
    }
  }
}

void Producer::know_topic(const std::string& topic) {
  rd_kafka_topic_t* handle = rd_kafka_topic_new(producer_.get(), topic.c_str(), nullptr);
  const rd_kafka_metadata_t* metadata = nullptr;
  if (handle == nullptr) return;
  if (rd_kafka_metadata(producer_.get(), 0, handle, &metadata, kTryMs) == RD_KAFKA_RESP_ERR_NO_ERROR)
    rd_kafka_metadata_destroy(metadata);
  rd_kafka_topic_destroy(handle);
}

bool Producer::troubled() {
  if (producer_) rd_kafka_poll(producer_.get(), 0);
  return troubled_;
}

absl::Status Producer::send(std::span<Outbox* const> outboxes) {
  if (rd_kafka_error_t* failed = rd_kafka_begin_transaction(producer_.get()))
    return error("kafka: begin_transaction", failed);
  kill_point("before_produce");
  for (Outbox* outbox : outboxes) RETURN_IF_ERROR(produce(*outbox));
  kill_point("after_produce");
  RETURN_IF_ERROR(send_offsets(outboxes.back()->progress));
  kill_point("after_send_offsets");
  RETURN_IF_ERROR(flush());
  // A leader that does not know this producer (the topic is new, or was not written for a day) takes whatever
  // sequence comes first. If it refuses the first request, because it does not lead yet, and takes the
  // second, the library holds the records of the first for acknowledged by the second, though they are
  // nowhere. Nobody but the broker gives offsets: a record without one is no record.
  size_t nowhere = 0;
  for (const Outbox* outbox : outboxes) {
    for (const Outbox::Message& m : outbox->messages()) nowhere += !m.seen && m.offset < 0 ? 1 : 0;
  }
  if (nowhere != 0)
    return absl::UnavailableError(
        fmt::format("kafka: {} records were acknowledged without an offset", nowhere));
  kill_point("before_commit");
  RETURN_IF_ERROR(commit_until_known());
  kill_point("after_commit");
  return absl::OkStatus();
}

absl::Status Producer::produce(Outbox& outbox) {
  std::map<const std::string*, rd_kafka_topic_t*> topics;
  const auto handle_of = [&](const std::string* name) {
    auto [it, fresh] = topics.try_emplace(name, nullptr);
    if (fresh) it->second = rd_kafka_topic_new(producer_.get(), name->c_str(), nullptr);
    return it->second;
  };
  absl::Status status;
  for (Outbox::Message& m : outbox.messages()) {
    if (m.seen) continue;
    m.offset = -1;
    rd_kafka_topic_t* topic = handle_of(m.topic);
    const std::string_view key = m.key ? outbox.view(*m.key) : std::string_view();
    const std::string_view value = m.value ? outbox.view(*m.value) : std::string_view();
    const void* key_data = m.key ? key.data() : nullptr;
    void* value_data = m.value ? const_cast<char*>(value.data()) : nullptr;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    do {
      if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) rd_kafka_poll(producer_.get(), 100);
      rd_kafka_headers_t* headers = nullptr;
      if (m.headers_begin != m.headers_end) {
        headers = rd_kafka_headers_new(m.headers_end - m.headers_begin);
        for (uint32_t h = m.headers_begin; h < m.headers_end; ++h) {
          const Outbox::HeaderSpan& span = outbox.all_headers()[h];
          const std::string_view name = outbox.view(span.name);
          const std::string_view text = span.value ? outbox.view(*span.value) : std::string_view();
          rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()),
                              span.value ? text.data() : nullptr, static_cast<ssize_t>(text.size()));
        }
      }
      // The bytes are not copied: the outbox outlives the transaction, and a producer that is given up is
      // destroyed before the outbox.
      code = rd_kafka_producev(producer_.get(), RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(m.partition),
                               RD_KAFKA_V_MSGFLAGS(0), RD_KAFKA_V_KEY(key_data, key.size()),
                               RD_KAFKA_V_VALUE(value_data, value.size()), RD_KAFKA_V_HEADERS(headers),
                               RD_KAFKA_V_TIMESTAMP(m.timestamp_ms), RD_KAFKA_V_OPAQUE(&m), RD_KAFKA_V_END);
      if (code != RD_KAFKA_RESP_ERR_NO_ERROR && headers != nullptr) rd_kafka_headers_destroy(headers);
    } while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL && !stop_());
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      status = error("cannot produce to " + *m.topic, code);
      break;
    }
  }
  for (const auto& [name, topic] : topics) rd_kafka_topic_destroy(topic);
  rd_kafka_poll(producer_.get(), 0);
  return status;
}

absl::Status Producer::send_offsets(const std::vector<LogProgress>& progress) {
  if (consumer_ == nullptr || progress.empty()) return absl::OkStatus();
  PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(progress.size())));
  for (const LogProgress& p : progress)
    rd_kafka_topic_partition_list_add(list.get(), p.topic.c_str(), p.partition)->offset = p.next;
  rd_kafka_consumer_group_metadata_t* group = rd_kafka_consumer_group_metadata(consumer_);
  absl::Status status;
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.commit_deadline_ms);
  while (true) {
    rd_kafka_error_t* failed =
        rd_kafka_send_offsets_to_transaction(producer_.get(), list.get(), group, kTryMs);
    if (failed == nullptr) break;
    const bool again = try_again(failed) && Clock::now() < deadline;
    status = error("kafka: send_offsets_to_transaction", failed);
    if (!again) break;
    status = absl::OkStatus();
  }
  rd_kafka_consumer_group_metadata_destroy(group);
  return status;
}

// Until every message has its delivery report.
absl::Status Producer::flush() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.commit_deadline_ms);
  rd_kafka_resp_err_t code{};
  do {
    code = rd_kafka_flush(producer_.get(), kTryMs);
  } while (code == RD_KAFKA_RESP_ERR__TIMED_OUT && Clock::now() < deadline);
  return code == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : error("kafka: flush", code);
}

// On a producer whose commit timed out nothing but commit may be called; its last answer is true.
absl::Status Producer::commit_until_known() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.commit_deadline_ms);
  while (true) {
    rd_kafka_error_t* failed = rd_kafka_commit_transaction(producer_.get(), kTryMs);
    if (failed == nullptr) return absl::OkStatus();
    const bool again = try_again(failed) && Clock::now() < deadline;
    absl::Status status = error("kafka: commit_transaction", failed);
    if (!again) return status;
    log::warn("a commit takes long", {{"says", std_sv(status.message())}});
  }
}

absl::Status Producer::drop_hanging(const std::vector<Visibility::Partition>& partitions) {
  if (rd_kafka_error_t* failed = rd_kafka_begin_transaction(producer_.get()))
    return error("kafka: begin_transaction", failed);
  static constexpr std::string_view kKey = "dropped";  // compacted topics take no record without a key
  for (const Visibility::Partition& p : partitions) {
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        producer_.get(), RD_KAFKA_V_TOPIC(p.topic.c_str()), RD_KAFKA_V_PARTITION(p.partition),
        RD_KAFKA_V_KEY(kKey.data(), kKey.size()), RD_KAFKA_V_OPAQUE(nullptr), RD_KAFKA_V_END);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error("cannot produce to " + p.topic, code);
  }
  RETURN_IF_ERROR(flush());
  return error("kafka: abort_transaction", rd_kafka_abort_transaction(producer_.get(), kTryMs));
}

}  // namespace doppel::kafka
