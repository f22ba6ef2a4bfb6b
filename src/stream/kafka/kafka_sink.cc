#include "stream/kafka/kafka_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/status.h"
#include "stream/metadata.h"

namespace doppel::kafka {
namespace {

constexpr size_t kMessageOverhead = 512;  // of a record and its batch, besides what we put into it

size_t headers_size(std::span<const Header> headers) {
  size_t bytes = 0;
  for (const Header& h : headers) bytes += h.name.size() + (h.value ? h.value->size() : 0) + 8;
  return bytes;
}

}  // namespace

KafkaSink::KafkaSink(KafkaSinkOptions options, Engine& engine, StoredOriginals& originals,
                     Transactor& transactor, KafkaPosition position)
    : options_(std::move(options)),
      engine_(engine),
      originals_(originals),
      position_(std::move(position)),
      transactor_(transactor) {}

KafkaSink::~KafkaSink() {
  if (commit_.valid()) commit_.wait();
}

absl::Status KafkaSink::write(const Decided& decided) {
  outbox_.clear();
  next_ = position_;
  const Resolved& resolved = decided.work.resolved;
  size_t row = 0;
  for (size_t i = 0; i < decided.batch.records.size(); ++i) RETURN_IF_ERROR(document(decided, i, row));
  if (row != resolved.rows.size())
    return absl::InternalError("there are more new rows than unique documents");
  RETURN_IF_ERROR(removals(decided));
  RETURN_IF_ERROR(expirations(resolved));
  advance(decided.batch);
  commit_ = std::async(std::launch::async, [this] { return transactor_.commit(outbox_); });
  return absl::OkStatus();
}

absl::Status KafkaSink::settle() {
  while (commit_.wait_for(std::chrono::seconds(1)) != std::future_status::ready) options_.waiting();
  RETURN_IF_ERROR(commit_.get());
  position_ = std::move(next_);
  position_.log_offset = transactor_.log_offset();
  position_.covered_ms = now_ms();
  return absl::OkStatus();
}

absl::Status KafkaSink::idle() { return transactor_.look_after(); }

bool KafkaSink::fits(const OutputTopic& topic, size_t bytes) const {
  return static_cast<int64_t>(bytes + kMessageOverhead) <= topic.message_bytes_max;
}

// ---- documents

absl::Status KafkaSink::document(const Decided& decided, size_t i, size_t& row) {
  const Record& record = decided.batch.records[i];
  const SignedDocument& document = decided.work.sign.documents[i];
  const Outcome& outcome = decided.work.resolved.outcomes[i];
  if (outcome.verdict == Verdict::unique) {
    const std::vector<StoredRow>& rows = decided.work.resolved.rows;
    if (row >= rows.size() || rows[row].seq != outcome.seq)
      return absl::InternalError(fmt::format("no row for the new representative {}", outcome.seq));
    outbox_.add_log(
        options_.index_log.name,
        put_log_row(outbox_.bytes(), rows[row++], options_.num_perm, options_.mask_words, options_.scheme,
                    {.metadata = document.metadata, .coded_set = decided.work.matched[i].coded_set}));
  }
  // Whoever judges these documents again can decide the same.
  if (outcome.verdict == Verdict::rejected && !record.not_fetched.empty()) {
    if (options_.missing_stops && !record.known_missing) {
      return absl::FailedPreconditionError(fmt::format("{}/{} at offset {} cannot be read: {}", record.source,
                                                       record.partition, record.offset, document.reason));
    }
    ++missing_;
    outbox_.add_log(options_.index_log.name,
                    put_log_missing(outbox_.bytes(), {.topic = std::string(record.source),
                                                      .partition = record.partition,
                                                      .offset = static_cast<int64_t>(record.offset),
                                                      .reason = document.reason}));
  }
  if (options_.events_off) return absl::OkStatus();
  if (outcome.verdict == Verdict::unique) unique_copy(record);
  if (outcome.verdict == Verdict::rejected) dead_letter(record, "SIGN", document.reason);
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  if (!duplicate && (!options_.all_verdicts || outcome.verdict == Verdict::removal)) return absl::OkStatus();

  Metadata about, original;
  RETURN_IF_ERROR(decode_metadata(document.metadata, about));
  if (duplicate) RETURN_IF_ERROR(decode_metadata(outcome.original, original));
  const std::string id = about.event_id();
  const std::string_view type = duplicate ? "duplicate-of" : "verdict";
  outbox_.header("ce_specversion", "1.0");
  outbox_.header("ce_type", type);
  outbox_.header("ce_source", options_.context.epoch);
  outbox_.header("ce_id", id);
  outbox_.header("content-type", "application/json");
  const size_t at = outbox_.bytes().size();
  if (duplicate) {
    append_duplicate_of(outbox_.bytes(), options_.context, about, original, outcome);
  } else {
    append_verdict_event(outbox_.bytes(), about, outcome, document.reason);
  }
  Outbox::Span value = outbox_.span_since(at);
  if (!fits(options_.events, value.size + (record.key ? record.key->size() : 0))) {
    outbox_.forget_headers();
    dead_letter(record, "EVENT",
                fmt::format("the event has {} bytes, more than the topic {} takes ({})", value.size,
                            options_.events.name, options_.events.message_bytes_max));
    return absl::OkStatus();
  }
  std::optional<Outbox::Span> key;
  if (record.key) key = outbox_.put(*record.key);
  outbox_.add(options_.events.name, key, value);
  return absl::OkStatus();
}

void KafkaSink::unique_copy(const Record& record) {
  if (options_.unique.name.empty()) return;
  const size_t size =
      record.value.size() + (record.key ? record.key->size() : 0) + headers_size(record.headers);
  if (!fits(options_.unique, size)) {
    dead_letter(record, "UNIQUE",
                fmt::format("the document has {} bytes, more than the topic {} takes ({})", size,
                            options_.unique.name, options_.unique.message_bytes_max));
    return;
  }
  outbox_.headers(record.headers);
  std::optional<Outbox::Span> key;
  if (record.key) key = outbox_.put(*record.key);
  outbox_.add(options_.unique.name, key, outbox_.put(record.value)).timestamp_ms =
      std::max<int64_t>(0, record.timestamp_ms);
}

// The record as it came, and in Kafka Connect's headers where it came from and what was wrong with it.
void KafkaSink::dead_letter(const Record& record, std::string_view stage, std::string_view reason) {
  if (options_.dead_letters.name.empty()) return;
  constexpr size_t kReasonMax = 2000;
  reason = reason.substr(0, kReasonMax);
  outbox_.headers(record.headers);
  outbox_.header("__connect.errors.topic", record.source);
  outbox_.header("__connect.errors.partition", fmt::format("{}", record.partition));
  outbox_.header("__connect.errors.offset", fmt::format("{}", record.offset));
  outbox_.header("__connect.errors.connector.name", "doppel");
  outbox_.header("__connect.errors.stage", stage);
  outbox_.header("__connect.errors.exception.message", reason);
  std::optional<Outbox::Span> key, value;
  if (record.key) key = outbox_.put(*record.key);
  const size_t size =
      record.value.size() + (record.key ? record.key->size() : 0) + headers_size(record.headers) + kReasonMax;
  if (fits(options_.dead_letters, size)) {
    if (!record.null_value) value = outbox_.put(record.value);
  } else {
    outbox_.header("doppel.left_out_bytes", fmt::format("{}", record.value.size()));
  }
  outbox_.add(options_.dead_letters.name, key, value).timestamp_ms =
      std::max<int64_t>(0, record.timestamp_ms);
}

// ---- the end of representatives

absl::Status KafkaSink::tell_end(const End& end) {
  if (options_.events_off) return absl::OkStatus();
  Metadata metadata;
  RETURN_IF_ERROR(decode_metadata(end.metadata, metadata));
  outbox_.header("ce_specversion", "1.0");
  outbox_.header("ce_type", "original-removed");
  outbox_.header("ce_source", options_.context.epoch);
  outbox_.header("ce_id", metadata.event_id() + "/removed");
  outbox_.header("content-type", "application/json");
  const size_t at = outbox_.bytes().size();
  append_original_removed(outbox_.bytes(), options_.context, metadata, removal_reason_name(end.reason));
  const Outbox::Span value = outbox_.span_since(at);
  std::optional<Outbox::Span> key;
  if (metadata.key) key = outbox_.put(*metadata.key);
  outbox_.add(options_.events.name, key, value);
  return absl::OkStatus();
}

absl::Status KafkaSink::removals(const Decided& decided) {
  return tell_removed(decided, originals_, [&](const End& end) {
    const absl::Status told = tell_end(end);
    outbox_.add_log(options_.index_log.name,
                    put_log_removed(outbox_.bytes(), {.seq = end.seq, .trusted_ms = end.trusted_ms}));
    return told;
  });
}

absl::Status KafkaSink::expirations(const Resolved& resolved) {
  LogExpire& expire = next_.expire;
  const std::string clock = engine_.clock();
  const bool moved = resolved.lowest_live > expire.lowest_live || clock != expire.clock;
  expire.lowest_live = std::max(expire.lowest_live, resolved.lowest_live);
  expire.clock = clock;
  ASSIGN_OR_RETURN(const Seq announced, tell_expired(resolved, expire.announced, engine_, originals_,
                                                     [&](const End& end) { return tell_end(end); }));
  for (Seq seq = expire.announced; seq < announced; ++seq) {
    const size_t at = outbox_.bytes().size();
    put_log_key(outbox_.bytes(), seq);
    outbox_.add(options_.index_log.name, outbox_.span_since(at), std::nullopt).partition = 0;
  }
  if (!moved && announced == expire.announced) return absl::OkStatus();
  expire.announced = announced;
  outbox_.add_log(options_.index_log.name, put_log_expire(outbox_.bytes(), expire));
  return absl::OkStatus();
}

// ---- the input

// One record for each partition that moved, at the end of the batch.
void KafkaSink::advance(const Batch& batch) {
  std::vector<LogProgress*> moved;
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
    p->next = static_cast<int64_t>(record.offset) + 1;
    p->last_ms = record.timestamp_ms;
    p->highest_ms = std::max(p->highest_ms, record.timestamp_ms);
  }
  for (const LogProgress* each : moved) {
    outbox_.progress.push_back(*each);
    outbox_.add_log(options_.index_log.name, put_log_progress(outbox_.bytes(), *each));
  }
}

}  // namespace doppel::kafka
