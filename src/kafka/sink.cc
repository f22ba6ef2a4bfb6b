#include "kafka/sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutation.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr std::chrono::seconds kAskLimits(3);  // how long a broker may take to learn of a new limit
constexpr std::chrono::milliseconds kPause(50);
constexpr std::chrono::seconds kLookAgain(2);  // between two looks at the log of a daemon without documents

}  // namespace

KafkaSink::KafkaSink(Cluster& cluster, KafkaSinkOptions options, Engine& engine, StoredOriginals& originals,
                     Transactor& transactor, KafkaPosition position)
    : cluster_(cluster),
      options_(std::move(options)),
      engine_(engine),
      originals_(originals),
      position_(std::move(position)),
      transactor_(transactor),
      commit_(options_.commit) {}

absl::Status KafkaSink::write(const Decided& decided) {
  decided_.emplace(decided);
  throttled_ = transactor_.throttled();
  return begin_commit();
}

absl::Status KafkaSink::begin_commit() {
  RETURN_IF_ERROR(encode(*decided_));
  writes_ = !outbox_.messages().empty();
  commit_.begin(
      [this] { return writes_ ? transactor_.commit(outbox_, &refused_) : transactor_.look_at_end(); });
  return absl::OkStatus();
}

absl::Status KafkaSink::end_commit() {
  while (!commit_.ends_within(std::chrono::seconds(1))) options_.waiting();
  return commit_.finish();
}

absl::Status KafkaSink::encode(const Decided& decided) {
  outbox_.clear();
  next_ = position_;
  missing_next_ = missing_;
  const Resolved& resolved = decided.work.resolved;
  size_t row = 0;
  auto better = resolved.better.begin();
  for (size_t i = 0; i < decided.batch.records.size(); ++i) {
    RETURN_IF_ERROR(document(decided, i, row));
    for (; better != resolved.better.end() && better->document == i; ++better)
      RETURN_IF_ERROR(better_copy(decided, *better));
  }
  DOPPEL_CHECK(row == resolved.rows.size(), "each new row belongs to a unique document", row,
               resolved.rows.size());
  RETURN_IF_ERROR(removals(decided));
  RETURN_IF_ERROR(expirations(resolved));
  advance(decided.batch);
  return absl::OkStatus();
}

absl::Status KafkaSink::settle() {
  absl::Status status = end_commit();
  while (absl::IsResourceExhausted(status)) {
    if (!mutated(Mutation::refusals_are_repeated)) RETURN_IF_ERROR(learn_limits());
    refused_.swap(outbox_);
    RETURN_IF_ERROR(begin_commit());
    status = end_commit();
  }
  if (options_.pace != nullptr && writes_ && status.ok()) {
    options_.pace->settled(decided_->batch.records.size(), decided_->batch.bytes,
                           std::chrono::duration_cast<Pace::Duration>(
                               std::chrono::duration<double>(transactor_.stats().last_commit_s)),
                           transactor_.throttled() - throttled_, Clock::now());
  }
  decided_.reset();
  refused_.clear();
  // The batch was empty and the broker does not answer whether others have written: the position stays as it
  // is.
  if (!writes_ && absl::IsUnavailable(status)) return absl::OkStatus();
  RETURN_IF_ERROR(status);
  DOPPEL_CHECK(transactor_.log_offset() >= next_.log_offset, "the index log only grows", next_.log_offset);
  position_ = std::move(next_);
  position_.log_offset = transactor_.log_offset();
  position_.covered_ms = Clock::unix_ms();
  missing_ = missing_next_;
  return absl::OkStatus();
}

absl::Status KafkaSink::idle() {
  // Without documents we would not learn that another process has claimed the log.
  if (const auto now = Clock::now(); now - looked_ >= kLookAgain) {
    looked_ = now;
    if (const absl::Status ours = still_ours(); absl::IsAborted(ours)) return ours;
  }
  return transactor_.look_after();
}

absl::Status KafkaSink::still_ours() {
  if (commit_.under_way()) return absl::OkStatus();
  const absl::Status failed = commit_.failed();
  if (absl::IsResourceExhausted(failed)) return absl::OkStatus();  // settle() repeats what was refused
  RETURN_IF_ERROR(failed);
  const absl::Status looked = transactor_.look_at_end();
  return absl::IsUnavailable(looked) ? absl::OkStatus() : looked;
}

// Refreshes at most once a second, even if the log drops tombstones at once.
bool KafkaSink::has_more_to_do() const {
  return position_.expire.announced < position_.expire.lowest_live ||
         Clock::unix_ms() - position_.covered_ms > std::max<int64_t>(options_.refresh_ms, 1'000);
}

// A topic refused a record that fits its limit as we know it: its max.message.bytes was lowered. Records that
// no longer fit become dead letters or lose a part. The index log has no such way out, so it is an error
// there.
absl::Status KafkaSink::learn_limits() {
  int64_t batch_bytes_max = std::numeric_limits<int64_t>::max();
  for (OutputTopic* topic :
       {&options_.events, &options_.dead_letters, &options_.unique, &options_.index_log}) {
    if (topic->name.empty()) continue;
    int64_t largest = 0;  // size of the largest refused message
    for (const Outbox::Message& m : outbox_.messages())
      if (m.refused && *m.topic == topic->name)
        largest = std::max(largest, static_cast<int64_t>(outbox_.bytes_of(m)));
    if (largest > 0) RETURN_IF_ERROR(learn_limit(*topic, largest));
    batch_bytes_max = std::min(batch_bytes_max, topic->message_bytes_max);
  }
  transactor_.set_batch_bytes_max(batch_bytes_max);
  return absl::OkStatus();
}

absl::Status KafkaSink::learn_limit(OutputTopic& topic, int64_t largest) {
  const int64_t before = topic.message_bytes_max;
  int64_t limit = before;
  // The leader that refused may know the new limit before the broker that we ask.
  const auto deadline = Clock::now() + kAskLimits;
  while (limit >= before && Clock::now() < deadline) {
    const absl::StatusOr<std::vector<std::string>> configs =
        cluster_.topic_configs(topic.name, {"max.message.bytes"});
    if (absl::IsUnavailable(configs.status())) return absl::OkStatus();  // the next refusal asks again
    RETURN_IF_ERROR(configs.status());
    const std::string& text = configs->front();
    std::from_chars(text.data(), text.data() + text.size(), limit);
    if (limit >= before) Clock::sleep(kPause);
  }
  log::warn("a topic accepts smaller records than before",
            {{"topic", topic.name}, {"max_message_bytes", limit}, {"before", before}});
  if (limit < before) {
    topic.message_bytes_max = limit;
  } else if (topic.compressed) {
    topic.compressed = false;  // compressed records are larger than estimated
  } else {
    topic.message_bytes_max = std::min(before, largest) * 3 / 4;  // the topic accepts less than it says
  }
  if (&topic != &options_.index_log || fits(topic, static_cast<size_t>(largest))) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "the index log {} refuses a record of {} bytes: its max.message.bytes was lowered from {} to {}; "
      "restore the old value, and start again",
      topic.name, largest, before, limit));
}

}  // namespace doppel::kafka
