// The snapshot in the state directory of an index on Kafka: whether it can be completed from the log.

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "kafka/log/kafka_opening.h"
#include "kafka/log/writes.h"
#include "open/setup.h"
#include "open/state_originals.h"
#include "state/journal.h"
#include "state/restore.h"

namespace doppel {
namespace {

using kafka::KafkaPosition;

bool is_empty(const LastCommit& last) { return last.record.next_seq == 0 && last.record.documents == 0; }

}  // namespace

// A matcher's directory holds only the originals of its shards.
std::string KafkaOpening::scheme_of_directory() const {
  return options_.own ? scheme_text_ + "shards=" + options_.own->text() + "\n" : scheme_text_;
}

StateOptions KafkaOpening::state_options() const {
  StateOptions out = doppel::state_options(o_);
  out.mask_words = engine_options_.rule.banding.mask_words();
  out.data_scheme = scheme_of_directory();
  out.rule = rule_text_;
  out.accepted = o_.accept_rule_change;
  out.sync_on = options_.sync_on;
  if (identity_.epoch) out.epoch = identity_.epoch->epoch;
  return out;
}

// Opens the newest good snapshot or an empty directory. Discards a damaged or outdated snapshot, because
// the log has everything.
absl::Status KafkaOpening::open_snapshot(kafka::LogReader& log) {
  const StateOptions options = state_options();
  // An empty directory may come from an interrupted start or a dry run, and its epoch does not matter.
  const std::optional<LastCommit> last = last_commit(o_.state_directory);
  if (last && is_empty(*last) && options.epoch && last->epoch != *options.epoch)
    RETURN_IF_ERROR(discard_state(o_.state_directory));
  for (bool again : {true, false}) {
    absl::StatusOr<std::unique_ptr<StateDir>> state = StateDir::open(options, {});
    std::string unusable;
    if (state.ok()) {
      index_->state = *std::move(state);
      ASSIGN_OR_RETURN(unusable, unusable_because(log));
      if (again && options_.fresh_state && !index_->state->recovered().fresh)
        unusable = "doppel was asked to read the index from the log alone";
      if (unusable.empty()) return absl::OkStatus();
      index_->state.reset();
    } else if (absl::IsDataLoss(state.status()) && identity_.epoch) {
      unusable = std_sv(state.status().message());
    } else {
      return in_use(state.status());
    }
    if (!again) return absl::InternalError("the state directory cannot be created again: " + unusable);
    log::warn("the snapshot is set aside; the index is read from its log",
              {{"directory", o_.state_directory}, {"because", unusable}});
    RETURN_IF_ERROR(discard_state(o_.state_directory));
  }
  return absl::OkStatus();
}

// Says why an intact snapshot cannot be completed from the log; empty if it can.
absl::StatusOr<std::string> KafkaOpening::unusable_because(kafka::LogReader& log) {
  const Recovered& r = index_->state->recovered();
  KafkaPosition& position = index_->position;
  position = {.cluster = options_.plan.cluster, .index_log = log_name_, .log_offset = bounds_.low};
  position.epoch_offset = identity_.offset;
  index_->documents = 0;
  if (r.fresh) return std::string();
  ASSIGN_OR_RETURN(KafkaPosition at, kafka::decode_position(r.source_position));
  at.expire.clock = r.clock;
  // Its offsets have no meaning here.
  if (identity_.epoch && (at.index_log != log_name_ || at.cluster != options_.plan.cluster))
    return fmt::format("it belongs to the index log {} of cluster {}", at.index_log, at.cluster);
  // The last batch may hang (docs/adr/0017). A claim makes it visible.
  while (bounds_.high < at.log_offset && !options_.read_only && !index_->transactor) {
    ASSIGN_OR_RETURN(const kafka::Watermarks stored,
                     options_.plan.kafka->watermarks({log_name_, 0}, kafka::Isolation::uncommitted));
    if (stored.high < at.log_offset) break;
    ASSIGN_OR_RETURN(const bool ours, is_our_turn());
    if (ours) RETURN_IF_ERROR(claim_log(options_, *index_));
    ASSIGN_OR_RETURN(bounds_, log.bounds());
  }
  if (!identity_.epoch || bounds_.high < at.log_offset) return lost_log(at.log_offset);
  const int64_t valid_until = at.covered_ms + options_.plan.log_delete_retention_ms / 2;
  if (Clock::unix_ms() > valid_until) {
    ASSIGN_OR_RETURN(const bool more, has_records(log, at.log_offset));
    if (more)
      return fmt::format("it is older than half of the log's delete.retention.ms ({} ms)",
                         options_.plan.log_delete_retention_ms);
  }
  at.epoch_offset = identity_.offset;
  position = std::move(at);
  index_->documents = r.documents;
  return std::string();
}

// Whether the log has records from `from` on, not only the marker of the last batch.
absl::StatusOr<bool> KafkaOpening::has_records(kafka::LogReader& log, int64_t from) const {
  bool found = false;
  absl::Status read = log.read(from, bounds_.high, [&](const kafka::LogMessage&) {
    found = true;
    return absl::CancelledError();
  });
  if (!read.ok() && !found) return read;
  return found;
}

absl::Status KafkaOpening::begin_restore() {
  start_ = Clock::now();
  const Recovered r = index_->state->recovered();
  known_here_ = !r.fresh;
  for (const std::string& note : r.notes) log::warn("state", {{"note", note}});
  const uint64_t expected =
      r.next_seq - r.first_row + static_cast<uint64_t>(bounds_.high - index_->position.log_offset);
  engine_options_.initial_capacity = std::max<uint64_t>(1024, expected);
  ASSIGN_OR_RETURN(index_->segments, open_segments({.memory = o_.memory, .directory = o_.state_directory},
                                                   index_->state.get(), engine_options_, options_.sync_on));
  index_->engine = std::make_unique<Engine>(engine_options_, index_->state->bodies());
  Engine& engine = *index_->engine;
  index_->originals = stored_originals(*index_->state, engine);
  if (!r.fresh) {
    log::info("loading the snapshot",
              {{"rows", r.next_seq - r.first_row}, {"directory", o_.state_directory}});
  }
  notify::still_starting(fmt::format("loading the snapshot: {} originals", r.next_seq - r.first_row));
  RETURN_IF_ERROR(engine.start_restore(r.first_row, r.lowest_live, r.clock));
  RETURN_IF_ERROR(load_rows_into(*index_->state, engine, options_.restoring));
  snapshot_seconds_ = seconds_since(start_);
  restorer_ = std::make_unique<LogRestorer>(*index_->state, engine, index_->scheme, index_->position,
                                            index_->documents);
  return absl::OkStatus();
}

// Fails if the state directory was completed from this log, which now holds no index.
absl::Status KafkaOpening::refuse_lost_log() {
  const std::optional<LastCommit> last = last_commit(o_.state_directory);
  if (!last || is_empty(*last)) return absl::OkStatus();
  const absl::StatusOr<KafkaPosition> at = kafka::decode_position(last->record.source_position);
  RETURN_IF_ERROR(at.status());
  return lost_log(at->log_offset);
}

absl::Status KafkaOpening::lost_log(int64_t log_offset) const {
  return absl::FailedPreconditionError(fmt::format(
      "the index log {} ends at offset {}, but {} was completed from it up to {}: the log was lost or "
      "created again. doppel rebuild --from state publishes it again; a new index needs a new state "
      "directory",
      log_name_, bounds_.high, o_.state_directory, log_offset));
}

}  // namespace doppel
