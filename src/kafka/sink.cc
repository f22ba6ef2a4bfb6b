#include "kafka/sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <map>

#include "base/check.h"
#include "base/clock.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"
#include "kafka/same_topic.h"
#include "records/events.h"
#include "records/metadata.h"

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
  // Without documents we would not learn that another process has claimed the log, or that it was lost.
  if (const auto now = Clock::now(); now - looked_ >= kLookAgain) {
    looked_ = now;
    const absl::Status ours = still_ours();
    if (absl::IsAborted(ours) || absl::IsFailedPrecondition(ours)) return ours;
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

namespace {

// The records of a batch: events, dead letters, copies of unique documents, and the index log.

constexpr size_t kOriginHeaders = 900;  // most bytes of a dead letter's headers, without the reason

// The progress of a partition whose topic was created again, before its first record.
LogProgress beginning_of(const Record& record, const LogProgress& before) {
  return {.topic = std::string(record.source),
          .partition = record.partition,
          .incarnation = record.incarnation,
          .former_id = record.topic_id == before.topic_id ? before.former_id : before.topic_id};
}

// Nullopt: the record's own key.
std::optional<std::string> cluster_key(EventKey key, const Metadata* original) {
  if (key == EventKey::input || original == nullptr) return std::nullopt;
  return key == EventKey::cluster_id ? original->event_id() : original->name();
}

}  // namespace

absl::Status KafkaSink::document(const Decided& decided, size_t i, size_t& row) {
  const Record& record = decided.batch.records[i];
  const SignedDocument& document = decided.work.sign.documents[i];
  const Outcome& outcome = decided.work.resolved.outcomes[i];
  if (outcome.verdict == Verdict::unique) {
    const std::vector<StoredRow>& rows = decided.work.resolved.rows;
    DOPPEL_CHECK(row < rows.size() && rows[row].seq == outcome.seq, "each unique document has its row", row,
                 rows.size(), outcome.seq);
    outbox_.add_log(
        options_.index_log.name,
        put_log_row(outbox_.bytes(), rows[row++], options_.num_perm, options_.mask_words, options_.scheme,
                    {.metadata = document.metadata, .coded_set = decided.work.sets[i].coded}));
  }
  // Recorded, so that a process that judges these documents again decides the same.
  if (outcome.verdict == Verdict::rejected && !record.not_fetched.empty()) {
    if (options_.missing_stops && !record.known_missing) {
      return absl::FailedPreconditionError(fmt::format("{}/{} at offset {} cannot be read: {}", record.source,
                                                       record.partition, record.offset, document.reason));
    }
    ++missing_next_;
    outbox_.add_log(options_.index_log.name,
                    put_log_missing(outbox_.bytes(), {.topic = std::string(record.source),
                                                      .partition = record.partition,
                                                      .offset = static_cast<int64_t>(record.offset),
                                                      .reason = document.reason}));
  }
  if (options_.events_off) return absl::OkStatus();
  const bool rejected = outcome.verdict == Verdict::rejected;
  // A document that was judged without a text has a reason; consumers of the unique topic do not get it.
  if (outcome.verdict == Verdict::unique && document.reason.empty()) RETURN_IF_ERROR(unique_copy(record));
  if (rejected) {
    RejectedRecord signed_elsewhere;
    RETURN_IF_ERROR(dead_letter(*signed_elsewhere.of(&record, document), "SIGN", document.reason));
  }
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  const bool partial = !duplicate && !options_.all_verdicts && !outcome.related.empty();
  if (!duplicate && !partial && (!options_.all_verdicts || outcome.verdict == Verdict::removal))
    return absl::OkStatus();

  Metadata about, original;
  RETURN_IF_ERROR(decode_metadata(document.metadata, about));
  if (duplicate) RETURN_IF_ERROR(decode_metadata(outcome.original, original));
  const std::string id = about.event_id();
  const std::string_view type = duplicate ? "duplicate-of" : partial ? "partial-copy-of" : "verdict";
  event_headers(type, id);
  const size_t at = outbox_.bytes().size();
  if (duplicate) {
    append_duplicate_of(outbox_.bytes(), options_.context, about, original, outcome);
  } else if (partial) {
    append_partial_copy_of(outbox_.bytes(), options_.context, about, outcome);
  } else {
    append_verdict_event(outbox_.bytes(), about, outcome, document.reason);
  }
  const Outbox::Span value = outbox_.span_since(at);
  const Metadata* cluster = duplicate ? &original : outcome.verdict == Verdict::unique ? &about : nullptr;
  const std::optional<std::string> of_cluster = cluster_key(options_.key, cluster);
  const std::optional<std::string_view> with =
      of_cluster ? std::optional<std::string_view>(*of_cluster) : record.key;
  if (!fits(options_.events, value.size + (with ? with->size() : 0))) {
    outbox_.forget_headers();
    if (rejected) return absl::OkStatus();  // it already has a dead letter
    return dead_letter(record, "EVENT",
                       fmt::format("the event has {} bytes with its key, more than the topic {} accepts ({})",
                                   value.size + (with ? with->size() : 0), options_.events.name,
                                   options_.events.message_bytes_max));
  }
  std::optional<Outbox::Span> key;
  if (with) key = outbox_.put(*with);
  outbox_.add(options_.events.name, key, value);
  return absl::OkStatus();
}

void KafkaSink::event_headers(std::string_view type, std::string_view id) {
  outbox_.header("ce_specversion", "1.0");
  outbox_.header("ce_type", type);
  outbox_.header("ce_source", options_.context.epoch);
  outbox_.header("ce_id", id);
  outbox_.header("content-type", "application/json");
}

// Announces that a cluster shows another copy, and notes it in the log. The event is shortened to the places
// of the two copies if the topic does not accept the whole one: what the index knows must not depend on it.
absl::Status KafkaSink::better_copy(const Decided& decided, const BetterCopy& better) {
  outbox_.add_log(options_.index_log.name,
                  put_log_shown(outbox_.bytes(), {.seq = better.seq, .copy = better.copy}));
  if (options_.events_off) return absl::OkStatus();
  const std::optional<std::string_view> input_key = decided.batch.records[better.document].key;
  Metadata about, original;
  RETURN_IF_ERROR(decode_metadata(decided.work.sign.documents[better.document].metadata, about));
  RETURN_IF_ERROR(decode_metadata(decided.work.resolved.outcomes[better.document].original, original));
  event_headers("better-copy", about.event_id() + "/better");
  size_t at = outbox_.bytes().size();
  RETURN_IF_ERROR(append_better_copy(outbox_.bytes(), options_.context, about, original, better));
  if (!fits(options_.events, outbox_.bytes().size() - at)) {
    at = outbox_.bytes().size();
    RETURN_IF_ERROR(append_better_copy_place(outbox_.bytes(), options_.context, about, original, better));
  }
  return add_shortest("better-copy", at, original, input_key);
}

// Adds the event that begins at `at` and cannot be shortened. Leaves out a key that is too long.
absl::Status KafkaSink::add_shortest(std::string_view type, size_t at, const Metadata& original,
                                     const std::optional<std::string_view>& input_key) {
  const Outbox::Span value = outbox_.span_since(at);
  if (!fits(options_.events, value.size)) {
    return absl::FailedPreconditionError(
        fmt::format("the topic {} accepts records of {} bytes, and the shortest {} event has {}; raise its "
                    "max.message.bytes, and start again",
                    options_.events.name, options_.events.message_bytes_max, type, value.size));
  }
  const std::optional<std::string> of_cluster = cluster_key(options_.key, &original);
  const std::optional<std::string_view> with =
      of_cluster ? std::optional<std::string_view>(*of_cluster) : input_key;
  std::optional<Outbox::Span> key;
  if (with && fits(options_.events, value.size + with->size())) key = outbox_.put(*with);
  outbox_.add(options_.events.name, key, value);
  return absl::OkStatus();
}

absl::Status KafkaSink::unique_copy(const Record& record) {
  if (options_.unique.name.empty()) return absl::OkStatus();
  if (!fits_compressed(options_.unique, record, 0)) {
    const size_t size = bytes_of(record);
    return dead_letter(record, "UNIQUE",
                       fmt::format("the document has {} bytes, more than the topic {} accepts ({})", size,
                                   options_.unique.name, options_.unique.message_bytes_max));
  }
  outbox_.headers(record.headers);
  std::optional<Outbox::Span> key;
  if (record.key) key = outbox_.put(*record.key);
  outbox_.add(options_.unique.name, key, outbox_.put(record.value)).timestamp_ms =
      std::max<int64_t>(0, record.timestamp_ms);
  return absl::OkStatus();
}

// Adds the record as it came, with Kafka Connect's headers for its origin and its error. If it is too large,
// the value is left out first, then the key and the headers; a header says so for each.
absl::Status KafkaSink::dead_letter(const Record& record, std::string_view stage, std::string_view reason) {
  const OutputTopic& topic = options_.dead_letters;
  if (topic.name.empty()) return absl::OkStatus();
  constexpr size_t kReasonMax = 2000, kReasonMin = 100;
  if (!fits(topic, kOriginHeaders + kReasonMin)) {
    return absl::FailedPreconditionError(
        fmt::format("the topic {} accepts records of {} bytes, too few for a dead letter that holds only its "
                    "origin; raise its max.message.bytes, and start again",
                    topic.name, topic.message_bytes_max));
  }
  const auto room = static_cast<size_t>(topic.message_bytes_max) - kMessageOverhead - kOriginHeaders;
  reason = reason.substr(0, std::min(kReasonMax, room));
  const size_t ours = kOriginHeaders + reason.size();
  const size_t key_bytes = record.key ? record.key->size() : 0, headers_bytes = headers_size(record.headers);
  const bool whole = fits_compressed(topic, record, ours);
  const bool with_key = whole || fits(topic, key_bytes + ours);
  const bool with_headers = whole || fits(topic, (with_key ? key_bytes : 0) + headers_bytes + ours);
  if (with_headers) outbox_.headers(record.headers);
  outbox_.header("__connect.errors.topic", record.source);
  outbox_.header("__connect.errors.partition", fmt::format("{}", record.partition));
  outbox_.header("__connect.errors.offset", fmt::format("{}", record.offset));
  if (record.incarnation > 1) outbox_.header(kIncarnationHeader, fmt::format("{}", record.incarnation));
  outbox_.header("__connect.errors.connector.name", "doppel");
  outbox_.header("__connect.errors.stage", stage);
  outbox_.header("__connect.errors.exception.message", reason);
  if (!whole) outbox_.header("doppel.left_out_bytes", fmt::format("{}", record.value.size()));
  if (!with_key) outbox_.header("doppel.left_out_key_bytes", fmt::format("{}", key_bytes));
  if (!with_headers) outbox_.header("doppel.left_out_headers", fmt::format("{}", record.headers.size()));
  std::optional<Outbox::Span> key, value;
  if (record.key && with_key) key = outbox_.put(*record.key);
  if (whole && !record.null_value) value = outbox_.put(record.value);
  outbox_.add(topic.name, key, value).timestamp_ms = std::max<int64_t>(0, record.timestamp_ms);
  return absl::OkStatus();
}

// ---- the end of originals

absl::Status KafkaSink::write_original_removed(const RemovedOriginal& end) {
  if (options_.events_off) return absl::OkStatus();
  Metadata metadata;
  RETURN_IF_ERROR(decode_metadata(end.metadata, metadata));
  event_headers("original-removed", metadata.event_id() + "/removed");
  size_t at = outbox_.bytes().size();
  append_original_removed(outbox_.bytes(), options_.context, metadata, removal_reason_name(end.reason));
  if (!fits(options_.events, outbox_.bytes().size() - at)) {  // too large: name only the original's place
    metadata = {.source = metadata.source,
                .partition = metadata.partition,
                .incarnation = metadata.incarnation,
                .offset = metadata.offset,
                .key = metadata.key};
    at = outbox_.bytes().size();
    append_original_removed(outbox_.bytes(), options_.context, metadata, removal_reason_name(end.reason));
  }
  return add_shortest("original-removed", at, metadata, metadata.key);
}

absl::Status KafkaSink::removals(const Decided& decided) {
  return write_removed(decided, originals_, [&](const RemovedOriginal& end) {
    const absl::Status written = write_original_removed(end);
    forget_shown(decided.work.resolved, end.seq);
    outbox_.add_log(options_.index_log.name,
                    put_log_removed(outbox_.bytes(), {.seq = end.seq, .trusted_ms = end.trusted_ms}));
    return written;
  });
}

// Adds a record with a null value, so that compaction drops the cluster's copy from the log.
void KafkaSink::forget_shown(const Resolved& resolved, Seq seq) {
  const auto is_its = [&](const BetterCopy& better) { return better.seq == seq; };
  if (options_.shows(seq) || std::any_of(resolved.better.begin(), resolved.better.end(), is_its))
    outbox_.add_log(options_.index_log.name, put_log_shown(outbox_.bytes(), {.seq = seq, .copy = {}}));
}

absl::Status KafkaSink::expirations(const Resolved& resolved) {
  LogExpire& expire = next_.expire;
  const std::string clock = engine_.clock();
  const bool moved = resolved.lowest_live > expire.lowest_live || clock != expire.clock;
  expire.lowest_live = std::max(expire.lowest_live, resolved.lowest_live);
  expire.clock = clock;
  ASSIGN_OR_RETURN(const Seq announced,
                   write_expired(resolved, expire.announced, engine_, originals_,
                                 [&](const RemovedOriginal& end) { return write_original_removed(end); }));
  for (Seq seq = expire.announced; seq < announced; ++seq) {
    const size_t at = outbox_.bytes().size();
    put_log_key(outbox_.bytes(), seq);
    outbox_.add(options_.index_log.name, outbox_.span_since(at), std::nullopt).partition = 0;
    forget_shown(resolved, seq);
  }
  if (!moved && announced == expire.announced) return absl::OkStatus();
  expire.announced = announced;
  outbox_.add_log(options_.index_log.name, put_log_expire(outbox_.bytes(), expire));
  return absl::OkStatus();
}

// ---- the input

// Ends the batch with one progress record for each partition that advanced.
void KafkaSink::advance(const Batch& batch) {
  std::vector<LogProgress*> moved;
  // A rebuild merges partitions by time, so the records of one need not lie side by side.
  std::map<const LogProgress*, std::vector<const Record*>> records_of;
  const Record* before = nullptr;
  LogProgress* p = nullptr;
  for (const Record& record : batch.records) {
    if (before == nullptr || record.partition != before->partition ||
        record.source.data() != before->source.data()) {
      p = &next_.progress[{std::string(record.source), record.partition}];
      if (std::find(moved.begin(), moved.end(), p) == moved.end()) moved.push_back(p);
      p->topic = record.source;
      p->partition = record.partition;
    }
    before = &record;
    if (record.incarnation > p->incarnation) *p = beginning_of(record, *p);
    DOPPEL_CHECK(record.incarnation == p->incarnation && static_cast<int64_t>(record.offset) >= p->next,
                 "progress never goes back", record.source, record.partition, record.incarnation,
                 record.offset, p->incarnation, p->next);
    p->next = static_cast<int64_t>(record.offset) + 1;
    p->last_ms = record.timestamp_ms;
    p->highest_ms = std::max(p->highest_ms, record.timestamp_ms);
    records_of[p].push_back(&record);
  }
  for (LogProgress* progress : moved) {
    const std::vector<const Record*>& records = records_of.at(progress);
    progress->moved = records.back()->moved;
    if (!records.back()->topic_id.empty()) progress->topic_id = records.back()->topic_id;
    progress->written_ms = Clock::unix_ms();
    add_samples(progress->samples, records.size(), [&records](size_t i) {
      const Record& record = *records[i];
      return LogProgress::Sample{static_cast<int64_t>(record.offset), record.timestamp_ms,
                                 checksum_of(record.key.value_or(std::string_view()), record.value)};
    });
    outbox_.progress.push_back(*progress);
    outbox_.add_log(options_.index_log.name, put_log_progress(outbox_.bytes(), *progress));
  }
  if (!options_.generation.empty())
    outbox_.add_log(options_.index_log.name,
                    put_log_cut(outbox_.bytes(), {options_.generation, engine_.cut()}));
}

}  // namespace doppel::kafka
