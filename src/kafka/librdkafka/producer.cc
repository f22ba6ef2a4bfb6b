#include "kafka/librdkafka/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "kafka/same_topic.h"

namespace doppel::kafka {
namespace {

constexpr int kTryMs = 10'000;               // time limit of one call
constexpr int64_t kRequestMost = 1'000'000;  // bytes of one partition's records
constexpr int64_t kRecordHead = 64;          // bytes of a record in a request besides key, value and headers
constexpr std::chrono::seconds kSayAgain(30);

// Takes ownership of `failed`; nullptr means OK.
absl::Status status_of(const std::string& what, rd_kafka_error_t* failed) {
  if (failed == nullptr) return absl::OkStatus();
  const bool fatal = rd_kafka_error_is_fatal(failed) != 0;
  const bool abort = rd_kafka_error_txn_requires_abort(failed) != 0;
  const bool again = !fatal && !abort && rd_kafka_error_is_retriable(failed) != 0;
  absl::Status status = error(what, rd_kafka_error_code(failed), rd_kafka_error_string(failed));
  rd_kafka_error_destroy(failed);
  if (again) return absl::UnavailableError(status.message());
  // The error is transient, but this producer cannot continue.
  if (absl::IsUnavailable(status) || (abort && absl::IsInternal(status)))
    return absl::DeadlineExceededError(status.message());
  return status;
}

class LibraryProducer final : public TransactionalProducer {
 public:
  explicit LibraryProducer(const TransactionalOptions& options)
      : id_(options.id),
        request_bytes_(std::clamp<int64_t>(options.batch_bytes_max, 1, kRequestMost)),
        compressed_(options.compressed_topics) {}
  ~LibraryProducer() override {
    topics_.clear();
    producer_.reset();
  }

  absl::Status open(const ClientOptions& client, const TransactionalOptions& options) {
    Settings settings{
        // The topics' limits count compressed bytes. The sink has decided before what fits.
        {"message.max.bytes", "1000000000"},
        {"batch.size", fmt::format("{}", request_bytes_)},
        {"queue.buffering.max.messages", "10000000"},
        {"queue.buffering.max.kbytes", "2097151"},
        {"linger.ms", "5"},
        {"enable.idempotence", "true"},
    };
    if (transactional()) {
      settings.emplace_back("transactional.id", options.id);
      settings.emplace_back("transaction.timeout.ms", fmt::format("{}", options.transaction_timeout_ms));
    }
    ASSIGN_OR_RETURN(producer_,
                     make_producer(client, settings, delivered, connection_broke, this, throttled_by));
    std::array<char, 256> name{};
    size_t size = name.size();
    if (rd_kafka_conf_get(rd_kafka_conf(producer_.get()), "client.id", name.data(), &size) ==
        RD_KAFKA_CONF_OK)
      client_id_ = name.data();
    return absl::OkStatus();
  }

  absl::Status init() override {
    if (!transactional()) return absl::OkStatus();
    rd_kafka_error_t* failed = rd_kafka_init_transactions(producer_.get(), kTryMs);
    if (failed == nullptr) return absl::OkStatus();
    const bool again = rd_kafka_error_is_retriable(failed) != 0 && rd_kafka_error_is_fatal(failed) == 0;
    absl::Status status = status_of("kafka: init_transactions for " + id_, failed);
    return again ? absl::UnavailableError(status.message()) : status;
  }

  absl::Status begin() override {
    first_failure_ = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (!transactional()) return absl::OkStatus();
    return status_of("kafka: begin_transaction", rd_kafka_begin_transaction(producer_.get()));
  }

  // Queues no more than one request for each partition. Version 2.0 sends the second one only after the
  // answer to the first, and waits for that answer in a busy loop, which took a fifth of the daemon's
  // processor time.
  absl::StatusOr<size_t> produce(Outbox& outbox, size_t from) override {
    size_t at = from;
    for (; at < outbox.messages().size(); ++at) {
      Outbox::Message& m = outbox.messages()[at];
      if (m.seen) continue;
      if (m.partition >= 0) {
        const auto bytes = static_cast<int64_t>(outbox.bytes_of(m)) + kRecordHead;
        int64_t& taken = taken_[{m.topic, m.partition}];
        if (taken > 0 && taken + bytes > request_bytes_) break;
        taken += bytes;
      }
      m.offset = -1;
      RETURN_IF_ERROR(produce(outbox, m));
    }
    rd_kafka_poll(producer_.get(), 0);
    return at;
  }

  absl::Status produce_key(const TopicPartition& place, std::string_view key) override {
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        producer_.get(), RD_KAFKA_V_TOPIC(place.topic.c_str()), RD_KAFKA_V_PARTITION(place.partition),
        RD_KAFKA_V_KEY(key.data(), key.size()), RD_KAFKA_V_OPAQUE(nullptr), RD_KAFKA_V_END);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : cannot_produce(place.topic, code);
  }

  absl::Status send_offsets(const Committer& by, const std::vector<LogProgress>& progress) override {
    const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(progress.size())));
    for (const LogProgress& p : progress)
      add_offset(list.get(), {p.topic, p.partition}, {p.next, group_note(p)});
    rd_kafka_consumer_group_metadata_t* metadata = nullptr;
    if (by.credentials.empty()) {
      metadata = rd_kafka_consumer_group_metadata_new(by.group.c_str());
    } else {
      RETURN_IF_ERROR(status_of(
          "kafka: membership of " + by.group,
          rd_kafka_consumer_group_metadata_read(&metadata, by.credentials.data(), by.credentials.size())));
    }
    rd_kafka_error_t* failed =
        rd_kafka_send_offsets_to_transaction(producer_.get(), list.get(), metadata, kTryMs);
    rd_kafka_consumer_group_metadata_destroy(metadata);
    const std::string what = "kafka: send_offsets_to_transaction";
    const bool failed_before = failed != nullptr && rd_kafka_error_code(failed) == RD_KAFKA_RESP_ERR__STATE;
    const absl::Status status = status_of(what, failed);
    const absl::Status why = failed_before ? why_failed(what) : absl::OkStatus();
    return why.ok() ? status : why;
  }

  absl::Status flush() override {
    taken_.clear();
    const rd_kafka_resp_err_t code = rd_kafka_flush(producer_.get(), kTryMs);
    if (first_failure_ != RD_KAFKA_RESP_ERR_NO_ERROR) {
      const absl::Status status = cannot_produce(failed_topic_, first_failure_);
      return absl::IsUnavailable(status) ? absl::DeadlineExceededError(status.message()) : status;
    }
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : failure("kafka: flush", code);
  }

  absl::Status commit() override {
    if (!transactional()) return absl::OkStatus();
    return status_of("kafka: commit_transaction", rd_kafka_commit_transaction(producer_.get(), kTryMs));
  }
  absl::Status abort() override {
    if (!transactional()) return absl::OkStatus();
    return status_of("kafka: abort_transaction", rd_kafka_abort_transaction(producer_.get(), kTryMs));
  }

  void know_topic(const std::string& topic) override {
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(producer_.get(), 0, handle_of(topic), &metadata, kTryMs) ==
        RD_KAFKA_RESP_ERR_NO_ERROR)
      rd_kafka_metadata_destroy(metadata);
  }

  bool take_trouble() override {
    rd_kafka_poll(producer_.get(), 0);
    return std::exchange(troubled_, false);
  }

  std::chrono::milliseconds throttled() override { return throttled_; }

 private:
  bool transactional() const { return !id_.empty(); }
  static void delivered(rd_kafka_t*, const rd_kafka_message_t* report, void* opaque) {
    auto* self = static_cast<LibraryProducer*>(opaque);
    auto* message = static_cast<Outbox::Message*>(report->_private);
    if (report->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      self->failed(report->err, rd_kafka_topic_name(report->rkt), message);
      return;
    }
    if (message == nullptr) return;
    message->stored_in = report->partition;
    message->offset = std::max<int64_t>(report->offset, -1);
  }
  static void connection_broke(rd_kafka_t*, int, const char*, void* opaque) {
    static_cast<LibraryProducer*>(opaque)->troubled_ = true;
  }

  // The broker has answered, and ignores this connection for so long.
  static void throttled_by(rd_kafka_t*, const char*, int32_t broker, int milliseconds, void* opaque) {
    auto* self = static_cast<LibraryProducer*>(opaque);
    const auto now = Clock::now();
    const auto until = now + std::chrono::milliseconds(milliseconds);
    const auto from = std::max(now, self->throttled_until_);
    if (until > from) {
      self->throttled_ += std::chrono::duration_cast<std::chrono::milliseconds>(until - from);
      self->throttled_until_ = until;
    }
    if (milliseconds == 0 || (self->quota_logged_ && now - *self->quota_logged_ < kSayAgain)) return;
    self->quota_logged_ = now;
    log::warn("a broker quota throttles doppel (producer_byte_rate or request_percentage)",
              {{"client_id", self->client_id_}, {"broker", broker}, {"throttle_ms", milliseconds}});
  }

  // A fenced producer purges its records. Their delivery reports do not say why, but the fatal error does.
  absl::Status failure(const std::string& what, rd_kafka_resp_err_t code) {
    std::array<char, 512> reason{};
    const rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(producer_.get(), reason.data(), reason.size());
    if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR) return error(what, fatal, reason.data());
    if (code == RD_KAFKA_RESP_ERR__PURGE_QUEUE || code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
      if (absl::Status why = why_failed(what); !why.ok()) return why;
    return error(what, code);
  }

  // A failed transaction purges its records, too. An attempt to begin another one fails with the cause.
  absl::Status why_failed(const std::string& what) {
    if (!transactional()) return absl::OkStatus();
    rd_kafka_error_t* why = rd_kafka_begin_transaction(producer_.get());
    if (why == nullptr) return absl::OkStatus();
    absl::Status out;
    if (rd_kafka_error_txn_requires_abort(why) != 0)
      out = error(what, rd_kafka_error_code(why), rd_kafka_error_string(why));
    rd_kafka_error_destroy(why);
    return out;
  }

  // Keeps the first failure only, because it causes the later ones.
  void failed(rd_kafka_resp_err_t code, const std::string& topic, Outbox::Message* message) {
    if (first_failure_ == RD_KAFKA_RESP_ERR_NO_ERROR) {
      first_failure_ = code;
      failed_topic_ = topic;
    }
    const bool too_large =
        code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
    if (message != nullptr && too_large) message->refused = true;
  }

  // Keeps one handle for each topic while the producer lives; there are few topics.
  rd_kafka_topic_t* handle_of(const std::string& topic) {
    const auto [entry, fresh] = topics_.try_emplace(topic);
    if (!fresh) return entry->second.get();
    rd_kafka_topic_conf_t* conf = nullptr;
    if (compressed_.contains(topic)) {
      conf = rd_kafka_default_topic_conf_dup(producer_.get());
      std::array<char, 256> message{};
      rd_kafka_topic_conf_set(conf, "compression.codec", "zstd", message.data(), message.size());
    }
    entry->second.reset(rd_kafka_topic_new(producer_.get(), topic.c_str(), conf));
    return entry->second.get();
  }

  absl::Status produce(const Outbox& outbox, Outbox::Message& m) {
    if (*m.topic != last_name_) {
      last_name_ = *m.topic;
      last_topic_ = handle_of(*m.topic);
    }
    const std::string_view key = m.key ? outbox.view(*m.key) : std::string_view();
    const std::string_view value = m.value ? outbox.view(*m.value) : std::string_view();
    const void* key_data = m.key ? key.data() : nullptr;
    void* value_data = m.value ? const_cast<char*>(value.data()) : nullptr;
    while (true) {
      rd_kafka_headers_t* headers = headers_of(outbox, m);
      // The library does not copy the bytes: the outbox outlives the transaction.
      const rd_kafka_resp_err_t code =
          rd_kafka_producev(producer_.get(), RD_KAFKA_V_RKT(last_topic_), RD_KAFKA_V_PARTITION(m.partition),
                            RD_KAFKA_V_MSGFLAGS(0), RD_KAFKA_V_KEY(key_data, key.size()),
                            RD_KAFKA_V_VALUE(value_data, value.size()), RD_KAFKA_V_HEADERS(headers),
                            RD_KAFKA_V_TIMESTAMP(m.timestamp_ms), RD_KAFKA_V_OPAQUE(&m), RD_KAFKA_V_END);
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
      if (headers != nullptr) rd_kafka_headers_destroy(headers);
      if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        rd_kafka_poll(producer_.get(), 100);
        continue;
      }
      absl::Status status = cannot_produce(*m.topic, code);
      if (absl::IsResourceExhausted(status)) m.refused = true;
      return absl::IsUnavailable(status) ? absl::DeadlineExceededError(status.message()) : status;
    }
  }

  absl::Status cannot_produce(const std::string& topic, rd_kafka_resp_err_t code) {
    const bool lacks_key = code == RD_KAFKA_RESP_ERR_INVALID_RECORD;
    return failure("cannot produce to " + topic +
                       (lacks_key ? " (a compacted topic takes no record without a key, and a document had "
                                    "none; cleanup.policy=delete on that topic takes them)"
                                  : ""),
                   code);
  }

  static rd_kafka_headers_t* headers_of(const Outbox& outbox, const Outbox::Message& m) {
    if (m.headers_begin == m.headers_end) return nullptr;
    rd_kafka_headers_t* headers = rd_kafka_headers_new(m.headers_end - m.headers_begin);
    for (uint32_t h = m.headers_begin; h < m.headers_end; ++h) {
      const Outbox::HeaderSpan& span = outbox.all_headers()[h];
      const std::string_view name = outbox.view(span.name);
      const std::string_view text = span.value ? outbox.view(*span.value) : std::string_view();
      rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()),
                          span.value ? text.data() : nullptr, static_cast<ssize_t>(text.size()));
    }
    return headers;
  }

  std::string id_;
  int64_t request_bytes_;
  std::set<std::string> compressed_;
  Client producer_;
  std::map<std::string, TopicHandle> topics_;
  std::string last_name_;
  rd_kafka_topic_t* last_topic_ = nullptr;
  absl::flat_hash_map<std::pair<const std::string*, int32_t>, int64_t> taken_;  // bytes since flush()
  bool troubled_ = false;
  std::string client_id_;
  std::chrono::milliseconds throttled_{};
  Clock::time_point throttled_until_{};
  std::optional<Clock::time_point> quota_logged_;  // when the log last named the quota
  rd_kafka_resp_err_t first_failure_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string failed_topic_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TransactionalProducer>> library_producer(const ClientOptions& client,
                                                                        const TransactionalOptions& options) {
  auto out = std::make_unique<LibraryProducer>(options);
  RETURN_IF_ERROR(out->open(client, options));
  return out;
}

}  // namespace doppel::kafka
