// The way of a batch:
//
//   begin, produce, send offsets, commit          while only a retriable error comes: commit again
//   anything else, or the deadline has passed     a new producer, init_transactions, the end of the log:
//                                                 covered by the progress there? committed. Else: send again.
//
// Flags decide, not codes: one and the same time-out comes with every meaning.

#include "stream/kafka/transactor.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <thread>

#include "base/kill_point.h"
#include "base/log.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTryMs = 10'000;  // for one call to the broker
constexpr int kAttempts = 3;    // with an error that waiting does not cure
constexpr std::chrono::seconds kSettling(10);
constexpr std::chrono::milliseconds kSettlingStep(20);

// What is to be done after an error of a transaction's call.
bool try_again(const rd_kafka_error_t* error) {
  return rd_kafka_error_is_fatal(error) == 0 && rd_kafka_error_txn_requires_abort(error) == 0 &&
         rd_kafka_error_is_retriable(error) != 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transactor>> Transactor::open(const TransactorOptions& options,
                                                             std::function<bool()> stop) {
  std::unique_ptr<Transactor> out(new Transactor(options, std::move(stop)));
  RETURN_IF_ERROR(out->init());
  return out;
}

Transactor::~Transactor() = default;

void Transactor::delivered(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  auto* self = static_cast<Transactor*>(opaque);
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return;  // the commit will fail
  if (message->offset < 0) self->without_offset_ += 1;
  // Only records of the index log are marked.
  if (message->_private != nullptr)
    self->delivered_log_offset_ = std::max(self->delivered_log_offset_, message->offset + 1);
}

absl::Status Transactor::init() {
  producer_.reset();
  const Settings settings{
      {"transactional.id", options_.transactional_id},
      {"transaction.timeout.ms", fmt::format("{}", options_.transaction_timeout_ms)},
      {"message.max.bytes", fmt::format("{}", options_.message_bytes_max)},
      {"queue.buffering.max.messages", "10000000"},
      {"queue.buffering.max.kbytes", "2097151"},
      {"linger.ms", "5"},
  };
  ASSIGN_OR_RETURN(producer_, make_producer(options_.client, settings, &Transactor::delivered, this));
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

void Transactor::know_topic(const std::string& topic) {
  rd_kafka_topic_t* handle = rd_kafka_topic_new(producer_.get(), topic.c_str(), nullptr);
  const rd_kafka_metadata_t* metadata = nullptr;
  if (handle == nullptr) return;
  if (rd_kafka_metadata(producer_.get(), 0, handle, &metadata, kTryMs) == RD_KAFKA_RESP_ERR_NO_ERROR)
    rd_kafka_metadata_destroy(metadata);
  rd_kafka_topic_destroy(handle);
}

absl::Status Transactor::commit(const Outbox& outbox) {
  bool fenced_once = false;
  const Clock::time_point start = Clock::now();
  for (int attempt = 1;; ++attempt) {
    delivered_log_offset_ = -1;
    without_offset_ = 0;
    absl::Status failed = send(outbox);
    bool committed = failed.ok();
    if (committed) {
      log_offset_ = std::max(log_offset_, delivered_log_offset_);
    } else {
      log::warn("a transaction failed; asking the index log what is committed",
                {{"says", std_sv(failed.message())}});
      stats_.recoveries.fetch_add(1, std::memory_order_relaxed);
      // Fenced by the broker's time-out, or by another process? That one leaves its name in the log, now or
      // when it fences us again.
      const bool fenced = absl::IsAborted(failed);
      if (fenced) stats_.fenced.fetch_add(1, std::memory_order_relaxed);
      ASSIGN_OR_RETURN(committed, recover(outbox, fenced));
      if (!committed && (fenced ? fenced_once : attempt >= kAttempts && !absl::IsUnavailable(failed)))
        return failed;
      fenced_once = fenced_once || fenced;
      log::info(committed ? "it was committed" : "it was not committed; sending it again");
    }
    if (committed) {
      stats_.commits.fetch_add(1, std::memory_order_relaxed);
      stats_.last_commit_s = std::chrono::duration<double>(Clock::now() - start).count();
      return absl::OkStatus();
    }
    stats_.resent.fetch_add(1, std::memory_order_relaxed);
  }
}

// Whether the outbox is committed after all. Waits for the broker.
absl::StatusOr<bool> Transactor::recover(const Outbox& outbox, bool fenced) {
  while (true) {
    absl::Status status;
    if (fenced) status = refuse_if_taken_over();
    if (status.ok()) status = init();
    if (status.ok()) {
      absl::StatusOr<bool> committed = is_in_log(outbox);
      if (committed.ok()) return committed;
      status = committed.status();
    }
    if (!absl::IsUnavailable(status)) return status;
    if (stop_())
      return absl::CancelledError("stopped while it was unknown whether the last batch is committed");
    log::warn("Kafka does not answer; trying again", {{"says", std_sv(status.message())}});
  }
}

absl::Status Transactor::send(const Outbox& outbox) {
  if (rd_kafka_error_t* failed = rd_kafka_begin_transaction(producer_.get()))
    return error("kafka: begin_transaction", failed);
  kill_point("before_produce");
  RETURN_IF_ERROR(produce(outbox));
  kill_point("after_produce");
  RETURN_IF_ERROR(send_offsets(outbox));
  kill_point("after_send_offsets");
  RETURN_IF_ERROR(await_offsets());
  kill_point("before_commit");
  RETURN_IF_ERROR(commit_until_known());
  kill_point("after_commit");
  return absl::OkStatus();
}

absl::Status Transactor::produce(const Outbox& outbox) {
  std::map<const std::string*, rd_kafka_topic_t*> topics;
  const auto handle_of = [&](const std::string* name) {
    auto [it, fresh] = topics.try_emplace(name, nullptr);
    if (fresh) it->second = rd_kafka_topic_new(producer_.get(), name->c_str(), nullptr);
    return it->second;
  };
  absl::Status status;
  for (const Outbox::Message& m : outbox.messages()) {
    rd_kafka_topic_t* topic = handle_of(m.topic);
    const std::string_view key = m.key ? outbox.view(*m.key) : std::string_view();
    const std::string_view value = m.value ? outbox.view(*m.value) : std::string_view();
    const void* key_data = m.key ? key.data() : nullptr;
    void* value_data = m.value ? const_cast<char*>(value.data()) : nullptr;
    void* mark = *m.topic == options_.index_log ? this : nullptr;
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
                               RD_KAFKA_V_TIMESTAMP(m.timestamp_ms), RD_KAFKA_V_OPAQUE(mark), RD_KAFKA_V_END);
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

absl::Status Transactor::send_offsets(const Outbox& outbox) {
  if (consumer_ == nullptr || outbox.progress.empty()) return absl::OkStatus();
  PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(outbox.progress.size())));
  for (const LogProgress& p : outbox.progress)
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

// A leader that does not know this producer (the topic is new, or was not written for a day) takes whatever
// sequence comes first. If it refuses the first request, because it does not lead yet, and takes the second,
// the library holds the records of the first for acknowledged by the second, though they are nowhere. Nobody
// but the broker gives offsets: a record without one is no record.
absl::Status Transactor::await_offsets() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.commit_deadline_ms);
  rd_kafka_resp_err_t code{};
  do {
    code = rd_kafka_flush(producer_.get(), kTryMs);
  } while (code == RD_KAFKA_RESP_ERR__TIMED_OUT && Clock::now() < deadline);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error("kafka: flush", code);
  if (without_offset_ == 0) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("kafka: {} records were acknowledged without an offset", without_offset_));
}

// On a producer whose commit timed out nothing but commit may be called; its last answer is true.
absl::Status Transactor::commit_until_known() {
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

// After init_transactions(): whatever was open is settled, so what the log says is final.
absl::StatusOr<bool> Transactor::is_in_log(const Outbox& outbox) {
  bool any = false;
  std::map<std::pair<std::string, int32_t>, int64_t> seen;
  RETURN_IF_ERROR(read_on([&](const LogRecord& record) {
    any = true;
    if (const auto* p = std::get_if<LogProgress>(&record)) seen[{p->topic, p->partition}] = p->next;
  }));
  if (outbox.progress.empty()) return any;  // nobody else writes
  for (const LogProgress& p : outbox.progress) {
    const auto it = seen.find({p.topic, p.partition});
    if (it == seen.end() || it->second < p.next) return false;
  }
  return true;
}

// Before init_transactions(), which would fence the one that has fenced us.
absl::Status Transactor::refuse_if_taken_over() {
  const int64_t from = log_offset_;
  absl::Status status = read_on([](const LogRecord&) {});
  log_offset_ = from;
  return status;
}

// Reads the committed log from where we know it to its end. Aborted if another process has left its name.
absl::Status Transactor::read_on(const std::function<void(const LogRecord&)>& visit) {
  ASSIGN_OR_RETURN(LogReader reader, LogReader::open(options_.client, options_.index_log));
  ASSIGN_OR_RETURN(Watermarks bounds, reader.bounds());
  // A broker that was just started may not show yet what it has committed.
  if (bounds.high < log_offset_) {
    log::warn("the index log ends before what was committed; waiting for the broker",
              {{"ends_at", fmt::format("{}", bounds.high)}, {"committed", fmt::format("{}", log_offset_)}});
  }
  for (const auto deadline = Clock::now() + kSettling;
       bounds.high < log_offset_ && Clock::now() < deadline;) {
    std::this_thread::sleep_for(kSettlingStep);
    ASSIGN_OR_RETURN(bounds, reader.bounds());
  }
  if (bounds.high < log_offset_) {
    return absl::FailedPreconditionError(fmt::format("{} ends at {}, before offset {} that was committed",
                                                     options_.index_log, bounds.high, log_offset_));
  }
  std::string owner = options_.owner;
  RETURN_IF_ERROR(reader.read(log_offset_, bounds.high, [&](const LogMessage& m) -> absl::Status {
    ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
    if (const auto* o = std::get_if<LogOwner>(&record)) owner = o->owner;
    visit(record);
    return absl::OkStatus();
  }));
  if (owner != options_.owner) {
    return absl::AbortedError(
        fmt::format("another process ({}) has taken over the index log {}", owner, options_.index_log));
  }
  log_offset_ = bounds.high;
  return absl::OkStatus();
}

}  // namespace doppel::kafka
