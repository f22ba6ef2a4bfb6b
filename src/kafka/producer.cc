#include "kafka/producer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr int kLongestMs = 900'000;  // the brokers' default of transaction.max.timeout.ms

}  // namespace

absl::Status Producer::reopen() {
  look_at_quotas();
  producer_.reset();
  throttled_before_ms_ = throttled_ms_;
  ASSIGN_OR_RETURN(producer_, cluster_.producer(options_.transactions));
  const auto start = Clock::now();
  bool warned = false;
  while (true) {
    absl::Status status = producer_->init();
    int& timeout_ms = options_.transactions.transaction_timeout_ms;
    if (absl::IsInvalidArgument(status) && timeout_ms > timeout_as_configured_ms_) {
      timeout_ms = timeout_as_configured_ms_;  // the brokers allow no more
      producer_.reset();
      ASSIGN_OR_RETURN(producer_, cluster_.producer(options_.transactions));
      continue;
    }
    if (!absl::IsUnavailable(status)) return status;
    if (stop_()) return absl::CancelledError("stopped while waiting for Kafka");
    if (!warned || Clock::now() - start > std::chrono::minutes(1)) {
      log::warn("waiting for Kafka", {{"says", std_sv(status.message())}});
      warned = true;
    }
  }
}

bool Producer::troubled() {
  if (producer_ && producer_->take_trouble()) troubled_ = true;
  return troubled_;
}

// Repeats the call while it returns Unavailable; after the deadline DeadlineExceeded gives up the producer.
absl::Status Producer::again_until_deadline(const Call& call, const char* slow) {
  // The time for which a quota throttles us does not count.
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.commit_deadline_ms) - throttled();
  while (true) {
    absl::Status status = call();
    look_at_quotas();
    if (!absl::IsUnavailable(status)) return status;
    if (mutated(Mutation::unknown_is_committed) && slow != nullptr) return absl::OkStatus();
    if (Clock::now() >= deadline + throttled()) return absl::DeadlineExceededError(status.message());
    if (slow != nullptr) log::warn(slow, {{"says", std_sv(status.message())}});
  }
}

absl::Status Producer::produce(Outbox& outbox) {
  for (size_t at = 0;;) {
    ASSIGN_OR_RETURN(at, producer_->produce(outbox, at));
    if (at == outbox.messages().size()) return absl::OkStatus();
    RETURN_IF_ERROR(again_until_deadline([&] { return producer_->flush(); }));
  }
}

void Producer::look_at_quotas() {
  if (producer_) throttled_ms_ = throttled_before_ms_ + producer_->throttled().count();
}

// The quota counts the bytes of an aborted transaction again when they are sent again. So a transaction that
// a quota made too slow would never succeed: the next attempt gets more time.
absl::Status Producer::send(std::span<Outbox* const> outboxes, const Stored& stored) {
  const auto before = throttled();
  absl::Status status = try_send(outboxes, stored);
  look_at_quotas();
  int& timeout_ms = options_.transactions.transaction_timeout_ms;
  const int longer_ms = std::max(timeout_ms, std::min(timeout_ms * 4, kLongestMs));
  if (!may_pass(status) || throttled() - before < std::chrono::milliseconds(timeout_ms) / 4 ||
      longer_ms == timeout_ms)
    return status;
  timeout_ms = longer_ms;
  log::warn("a broker quota makes a transaction longer than its time-out; raising the time-out",
            {{"transaction_timeout_ms", timeout_ms}});
  return status;
}

absl::Status Producer::try_send(std::span<Outbox* const> outboxes, const Stored& stored) {
  RETURN_IF_ERROR(producer_->begin());
  kill_point("before_produce");
  for (Outbox* outbox : outboxes) RETURN_IF_ERROR(produce(*outbox));
  kill_point("after_produce");
  const std::vector<LogProgress>& progress = outboxes.back()->progress;
  if (!committer_.group.empty() && !progress.empty())
    RETURN_IF_ERROR(again_until_deadline([&] { return producer_->send_offsets(committer_, progress); }));
  kill_point("after_send_offsets");
  RETURN_IF_ERROR(again_until_deadline([&] { return producer_->flush(); }));
  // A leader that does not know this producer (the topic is new, or we did not write to it for a day) accepts
  // any first sequence number. If it refuses our first request because it does not lead yet, and accepts the
  // second, the library reports the records of the first as acknowledged although they are not stored. Only
  // the broker assigns offsets, so a record without one is not stored.
  size_t nowhere = 0;
  for (const Outbox* outbox : outboxes) {
    for (const Outbox::Message& m : outbox->messages()) nowhere += !m.seen && m.offset < 0 ? 1 : 0;
  }
  if (nowhere != 0 && !mutated(Mutation::offsets_are_not_checked))
    return absl::DeadlineExceededError(
        fmt::format("kafka: {} records were acknowledged without an offset", nowhere));
  RETURN_IF_ERROR(stored());
  kill_point("before_commit");
  // After a commit that timed out only commit() may be called; its last answer is the true one.
  RETURN_IF_ERROR(again_until_deadline([&] { return producer_->commit(); }, "a commit takes long"));
  kill_point("after_commit");
  return absl::OkStatus();
}

absl::Status Producer::drop_hanging(const std::vector<TopicPartition>& partitions,
                                    const std::vector<LogProgress>& progress,
                                    const std::function<void()>& before) {
  RETURN_IF_ERROR(producer_->begin());
  absl::Status stored;
  for (const TopicPartition& p : partitions) {
    // Compacted topics refuse records without a key.
    if (stored.ok()) stored = producer_->produce_key(p, "dropped");
  }
  if (stored.ok()) stored = again_until_deadline([&] { return producer_->flush(); });
  if (stored.ok() && !progress.empty())
    stored = again_until_deadline([&] { return producer_->send_offsets(committer_, progress); });
  // Even after an error these records may be stored. The next producer then aborts them, and with them the
  // hanging records.
  if (!absl::IsAborted(stored)) before();
  RETURN_IF_ERROR(stored);
  return again_until_deadline([&] { return producer_->abort(); });
}

}  // namespace doppel::kafka
