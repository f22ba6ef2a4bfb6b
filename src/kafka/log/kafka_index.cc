#include "kafka/log/kafka_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/strings/str_join.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "engine/settings.h"
#include "kafka/log/identity.h"
#include "kafka/log/kafka_opening.h"
#include "open/originals.h"
#include "open/setup.h"
#include "state/file.h"
#include "state/journal.h"
#include "state/restore.h"
#include "state/scheme.h"

namespace doppel {
namespace {

using kafka::KafkaPosition;

constexpr std::chrono::milliseconds kPause(500);
constexpr uint64_t kExpiredMost = 1'000'000;  // a standby with more expired than live originals loads again
constexpr int kAttempts = 5;                  // if another process begins an index in the log meanwhile

// The topics whose records the index has judged but that are no longer inputs.
std::vector<std::string> unread_topics(const KafkaPosition& position, const kafka::Inputs& inputs) {
  std::vector<std::string> out;
  for (const auto& [place, progress] : position.progress)
    if (!kafka::is_input(inputs, place.first) && (out.empty() || out.back() != place.first))
      out.push_back(place.first);
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaIndex>> KafkaOpening::open() {
  ASSIGN_OR_RETURN(engine_options_, engine_options(o_, options_.key));
  engine_options_.track_ids = o_.tombstones == Tombstones::key || o_.on_update == OnUpdate::replace;
  engine_options_.own = options_.own;
  engine_options_.elsewhere = options_.elsewhere;
  scheme_text_ = engine_options_.scheme.describe();
  index_->scheme = options_.key.derive(scheme_text_);
  index_->index_log = log_name_;

  // Refuse a directory that is in use before fencing anybody.
  RETURN_IF_ERROR(make_directories(o_.state_directory));
  RETURN_IF_ERROR(in_use(lock_directory(o_.state_directory).status()));
  ASSIGN_OR_RETURN(kafka::LogReader log, kafka::LogReader::open(*options_.plan.kafka, {log_name_, 0}));
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    ASSIGN_OR_RETURN(bounds_, log.bounds());
    ASSIGN_OR_RETURN(identity_,
                     find_identity(log, bounds_, {options_.plan.cluster, log_name_}, o_.state_directory));
    log::debug("found in the log which index it holds", {{"records_read", identity_.records_read}});
    keep_banding(engine_options_.rule, identity_.rule);
    rule_text_ = describe_rule(engine_options_.rule);
    wanted_ = wanted_log();
    RETURN_IF_ERROR(check_log(wanted_, identity_));
    if (identity_.epoch) index_->epoch = *identity_.epoch;
    if (!identity_.epoch && !options_.read_only) {
      ASSIGN_OR_RETURN(const bool ours, is_our_turn());
      if (!ours) {
        attempt = 0;  // the process whose turn it is begins the index
        continue;
      }
      RETURN_IF_ERROR(begin_index(log));
      if (!identity_.epoch) continue;  // another process has begun it
    }
    RETURN_IF_ERROR(open_snapshot(log));
    RETURN_IF_ERROR(begin_restore());
    RETURN_IF_ERROR(read_log(log));  // the owner of the log may still write
    if (!options_.read_only) {
      RETURN_IF_ERROR(compare_topics());
      RETURN_IF_ERROR(stand_by(log));
      if (another_index()) continue;
      if (!index_->transactor) RETURN_IF_ERROR(claim_log(options_, *index_));
      // Records behind this end can only come from a process that claims the log after us.
      if (!mutated(Mutation::the_end_is_taken_before_the_claim)) {
        ASSIGN_OR_RETURN(bounds_, log.bounds());
      }
      RETURN_IF_ERROR(read_log(log));
      if (another_index()) continue;
    }
    RETURN_IF_ERROR(end_restore());
    if (options_.own) index_->follower = std::move(restorer_);
    if (!options_.read_only && !o_.accept_rule_change.empty())
      RETURN_IF_ERROR(write_rule(*index_, rule_text_));
    return std::move(index_);
  }
  return absl::FailedPreconditionError(fmt::format("the index log {} keeps changing", log_name_));
}

// Begins a new log with the index's epoch and rule. If another process has written to the log meanwhile, it
// leaves identity_ empty.
absl::Status KafkaOpening::begin_index(kafka::LogReader& log) {
  RETURN_IF_ERROR(refuse_lost_log());
  if (!index_->transactor) {
    RETURN_IF_ERROR(claim_log(options_, *index_));
    ASSIGN_OR_RETURN(bounds_, log.bounds());
    ASSIGN_OR_RETURN(identity_,
                     find_identity(log, bounds_, {options_.plan.cluster, log_name_}, o_.state_directory));
    if (identity_.epoch || identity_.strange) {
      identity_ = {};
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(index_->epoch, new_epoch(wanted_, options_.key));
  kafka::Outbox outbox;
  outbox.add_log(log_name_, put_log_epoch(outbox.bytes(), index_->epoch));
  outbox.add_log(log_name_, put_log_rule(outbox.bytes(), {rule_text_}));
  RETURN_IF_ERROR(index_->transactor->commit(outbox));
  identity_ = {.epoch = index_->epoch};
  ASSIGN_OR_RETURN(bounds_, log.bounds());
  return absl::OkStatus();
}

// Whether another process has begun the index since we looked at the log.
bool KafkaOpening::another() const {
  const std::optional<LogEpoch>& read = restorer_->epoch();
  return read && !(identity_.epoch && read->epoch == identity_.epoch->epoch &&
                   read->complete == identity_.epoch->complete);
}

bool KafkaOpening::another_index() {
  if (!another()) return false;
  const std::optional<LogEpoch>& read = restorer_->epoch();
  log::warn("the index log holds another index now; reading it from the start",
            {{"epoch", epoch_string(read->epoch)}});
  close_index();
  return true;
}

void KafkaOpening::close_index() {
  restorer_.reset();
  index_->originals.reset();
  index_->engine.reset();
  index_->segments.clear();
  index_->state.reset();
}

WantedLog KafkaOpening::wanted_log() const {
  return {.name = log_name_,
          .cluster = options_.plan.cluster,
          .data_scheme = scheme_text_,
          .rule = rule_text_,
          .num_perm = static_cast<uint32_t>(o_.num_perm),
          .mask_words = mask_words(),
          .rebuilt_from = options_.rebuilt_from,
          .read_only = options_.read_only,
          .may_be_empty = o_.dry_run,
          .begins = bounds_.low};
}

// The index has read topics that are not configured. This may be the index of another daemon, so it is an
// error unless our state directory already holds it.
absl::Status KafkaOpening::compare_topics() {
  if (options_.rebuilt_from || o_.cluster.is_part()) return absl::OkStatus();
  const std::vector<std::string> others = unread_topics(index_->position, options_.plan.inputs);
  if (others.empty()) return absl::OkStatus();
  const std::string names = absl::StrJoin(others, " ");
  if (known_here_) {
    log::warn("the index has read topics that kafka.topics does not name; they are not read any more",
              {{"topics", names}, {"to_remove_them", "doppel offsets forget TOPIC"}});
    return absl::OkStatus();
  }
  // The next start must not take what this one has read for an index that is known here.
  close_index();
  std::string note;
  RETURN_IF_ERROR(discard_state(o_.state_directory, &note));
  log::info("what was read of the other index is set aside", {{"note", note}});
  return invalid(fmt::format(
      "the index log {} belongs to an index that reads other topics: {}. A second index needs its own "
      "log: set kafka.index_log. If it is this index, and these topics are no longer to be read, doppel "
      "rebuild --from log makes its state directory",
      log_name_, names));
}

absl::StatusOr<bool> KafkaOpening::is_our_turn() {
  if (options_.standby == nullptr) return true;
  RETURN_IF_ERROR(options_.standby->may_follow(index_->position));
  ASSIGN_OR_RETURN(const bool ours, options_.standby->ours(index_->position.owner));
  if (!ours && options_.stop()) return absl::CancelledError("stopped while another daemon serves the index");
  return ours;
}

// Follows the log until it is our turn.
absl::Status KafkaOpening::stand_by(kafka::LogReader& log) {
  while (true) {
    ASSIGN_OR_RETURN(const bool ours, is_our_turn());
    if (ours || another()) break;
    const KafkaPosition& position = index_->position;
    if (Clock::unix_ms() > position.covered_ms + options_.plan.log_delete_retention_ms / 2)
      return absl::UnavailableError(fmt::format("{} has not been read for too long", log_name_));
    // Expired rows stay in memory until the tables are built.
    const Seq first = index_->state->recovered().first_row;
    const Seq expired = position.expire.lowest_live - std::min(first, position.expire.lowest_live);
    if (expired > kExpiredMost && expired > restorer_->next_seq() - position.expire.lowest_live)
      return absl::UnavailableError(
          fmt::format("{} originals expired while standing by; loading the snapshot again", expired));
    ASSIGN_OR_RETURN(bounds_, log.bounds());
    if (bounds_.high > position.log_offset) {
      RETURN_IF_ERROR(read_log(log));
    } else {
      index_->position.covered_ms = Clock::unix_ms();  // the log has nothing newer
    }
  }
  return absl::OkStatus();
}

// Reads from the position to bounds_.high.
absl::Status KafkaOpening::read_log(kafka::LogReader& log) {
  const int64_t from = index_->position.log_offset, end = bounds_.high;
  const Clock::time_point start = Clock::now();
  Clock::time_point logged = start;
  const auto to_read = static_cast<uint64_t>(std::max<int64_t>(end - from, 0));
  if (!stands_by()) {
    notify::still_starting(fmt::format("reading the index log: {} records", to_read));
    options_.restoring({"reading the index log", 0, to_read});
  }
  RETURN_IF_ERROR(restorer_->restore(log, end, [&](uint64_t) {
    if (stands_by()) return;
    const int64_t at = index_->position.log_offset;
    options_.restoring({"reading the index log", static_cast<uint64_t>(at - from), to_read});
    if (Clock::now() - logged < std::chrono::seconds(2)) return;
    logged = Clock::now();
    const auto done = static_cast<double>(at - from);
    notify::still_starting(fmt::format("reading the index log: {:.0f} %",
                                       100 * done / std::max(static_cast<double>(to_read), 1.0)));
    const double rate = done / std::max(seconds_since(start), 1e-3);
    log::info("reading the index log",
              {{"offset", at},
               {"end", end},
               {"per_second", static_cast<uint64_t>(rate)},
               {"seconds_left", static_cast<double>(end - at) / std::max(rate, 1.0)}});
  }));
  return check_rule(restorer_->rule().value_or(rule_text_));
}

absl::Status KafkaOpening::end_restore() {
  const Recovered r = index_->state->recovered();
  rule_text_ = rule_in_force(restorer_->rule().value_or(r.rule), rule_text_, o_.accept_rule_change);
  index_->engine->take_room(rule_text_);
  index_->state->set_rule(rule_text_);
  // Writes a checkpoint of the rows from the log while the tables are built.
  if (restorer_->rows() != 0) index_->state->begin_checkpoint();
  index_->engine->finish_restore(thread_count(o_));
  const OriginalsStats stats = index_->engine->originals().stats();
  log::info("the index is restored", {{"originals", stats.live},
                                      {"from_snapshot", r.next_seq - r.first_row},
                                      {"from_log", restorer_->rows()},
                                      {"snapshot_seconds", snapshot_seconds_},
                                      {"seconds", seconds_since(start_)}});
  return absl::OkStatus();
}

// Compares the last rule that was read from the log. StateDir has compared the snapshot's rule.
absl::Status KafkaOpening::check_rule(const std::string& rule) {
  RETURN_IF_ERROR(refuse_differences(
      fmt::format("the index log {} was made under another rule; use it, or accept the change by "
                  "name (accept_rule_change)",
                  options_.plan.index_log.name),
      rule_differences(rule, rule_text_, o_.accept_rule_change)));
  return absl::OkStatus();
}

// After a transient error this starts over. That costs little, because records that were read are committed
// to the directory.
absl::StatusOr<std::unique_ptr<KafkaIndex>> open_kafka_index(const KafkaIndexOptions& options) {
  while (true) {
    absl::StatusOr<std::unique_ptr<KafkaIndex>> index = KafkaOpening(options).open();
    const absl::Status& status = index.status();
    // NotFound is transient, because the plan has seen the log. But a log that is only read may hold no
    // index, and waiting does not change that.
    const bool may_pass =
        absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
        (absl::IsNotFound(status) && (!options.read_only || options.own || options.options.dry_run));
    if (!may_pass) return index;
    if (options.stop()) return absl::CancelledError("stopped while waiting for Kafka");
    log::warn("waiting for Kafka", {{"says", std_sv(status.message())}});
    notify::still_starting("waiting for Kafka");
    Clock::sleep(kPause);
  }
}

namespace {

// The snapshot in the state directory of an index on Kafka: whether it can be completed from the log.

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

KeyPolicy key_policy(const Options& o) {
  return {.tombstones = o.tombstones == Tombstones::key, .replace = o.on_update == OnUpdate::replace};
}

kafka::KafkaSinkOptions sink_options(const Options& o, const KafkaPlan& plan, const KafkaIndex& index) {
  return {
      .events = plan.events,
      .dead_letters = plan.dead_letters,
      .unique = plan.unique,
      .index_log = plan.index_log,
      .key = o.output.key == OutputKey::cluster_id    ? kafka::EventKey::cluster_id
             : o.output.key == OutputKey::original_id ? kafka::EventKey::original_id
                                                      : kafka::EventKey::input,
      .all_verdicts = o.output.verdicts == Verdicts::all,
      .context = {.scheme = fmt::format("{:016x}", index.scheme), .epoch = epoch_string(index.epoch.epoch)},
      .shows = [state = index.state.get()](Seq seq) { return state->shown(seq) != nullptr; },
      .scheme = index.scheme,
      .num_perm = o.num_perm,
      .mask_words = static_cast<int>(index.epoch.mask_words),
      .refresh_ms = std::min<int64_t>(3'600'000, plan.log_delete_retention_ms / 8)};
}

absl::Status commit_position(KafkaIndex& index) {
  const kafka::KafkaPosition& position = index.position;
  return index.state->commit(
      {.lowest_live = std::max(position.expire.lowest_live, index.state->recovered().lowest_live),
       .source_position = encode_position(position),
       .clock = index.engine->clock(),
       .documents = index.documents,
       .keep_from = position.expire.announced});
}

absl::Status SnapshotJournal::commit(const Batch& batch, const Resolved& resolved,
                                     std::string sink_position) {
  index_.documents += batch.records.size();
  kill_point("before_state_commit");
  RETURN_IF_ERROR(index_.state->commit({.rows = resolved.rows,
                                        .removed = resolved.removed_numbers(),
                                        .shown = resolved.shown(),
                                        .lowest_live = resolved.lowest_live,
                                        .source_position = std::move(sink_position),
                                        .clock = index_.engine->clock(),
                                        .documents = index_.documents,
                                        .keep_from = sink_.where().expire.announced}));
  kill_point("after_state_commit");
  return absl::OkStatus();
}

absl::Status claim_log(const KafkaIndexOptions& options, KafkaIndex& index) {
  const Options& o = options.options;
  kafka::TransactorOptions transactor;
  transactor.producer.transactions.id = options.plan.transactional_id;
  transactor.producer.transactions.transaction_timeout_ms = static_cast<int>(o.kafka.transaction_timeout_ms);
  transactor.producer.transactions.batch_bytes_max = options.plan.batch_bytes_max;
  transactor.producer.commit_deadline_ms = static_cast<int>(o.kafka.commit_deadline_ms);
  transactor.index_log = index.index_log;
  const std::string member = options.standby == nullptr ? "" : options.standby->member();
  transactor.owner = options.owner.empty() ? make_owner_name(member)
                     : member.empty()      ? options.owner
                                           : options.owner + '/' + member;
  transactor.owner_settings = standby_settings(o, options.plan);
  for (const kafka::OutputTopic& topic :
       {options.plan.events, options.plan.dead_letters, options.plan.unique})
    if (!topic.name.empty()) transactor.outputs.insert(topic.name);
  transactor.covers_to = index.position.log_offset;
  transactor.covers = [&index](const kafka::InputPlace& place) {
    const auto at = index.position.progress.find({place.topic, place.partition});
    return at != index.position.progress.end() && kafka::covers(at->second, place);
  };
  for (const kafka::OutputTopic& topic : {options.plan.dead_letters, options.plan.unique})
    if (topic.compressed) transactor.producer.transactions.compressed_topics.insert(topic.name);
  ASSIGN_OR_RETURN(index.transactor, kafka::Transactor::open(*options.plan.kafka, transactor, options.stop));
  for (const kafka::OutputTopic& topic :
       {options.plan.index_log, options.plan.events, options.plan.dead_letters, options.plan.unique})
    if (!topic.name.empty()) index.transactor->know_topic(topic.name);
  return absl::OkStatus();
}

absl::Status write_rule(KafkaIndex& index, const std::string& rule) {
  kafka::Outbox outbox;
  outbox.add_log(index.index_log, put_log_rule(outbox.bytes(), {rule}));
  RETURN_IF_ERROR(index.transactor->commit(outbox));
  index.position.log_offset = index.transactor->log_offset();
  return absl::OkStatus();
}

namespace {

absl::Status write(KafkaIndex& index, const std::vector<LogProgress>& progress, bool completes) {
  kafka::Outbox outbox;
  for (const LogProgress& p : progress) {
    outbox.add_log(index.index_log, put_log_progress(outbox.bytes(), p));
    if (p.forgotten) {
      index.position.progress.erase({p.topic, p.partition});
      continue;
    }
    outbox.progress.push_back(p);
    index.position.progress[{p.topic, p.partition}] = p;
  }
  if (completes) {
    index.epoch.complete = true;
    outbox.add_log(index.index_log, put_log_epoch(outbox.bytes(), index.epoch));
  }
  if (outbox.messages().empty()) return absl::OkStatus();
  RETURN_IF_ERROR(index.transactor->commit(outbox));
  index.position.log_offset = index.transactor->log_offset();
  return absl::OkStatus();
}

}  // namespace

absl::Status write_progress(KafkaIndex& index, const std::vector<LogProgress>& progress) {
  return write(index, progress, false);
}

absl::Status write_generation(KafkaIndex& index, const std::string& generation) {
  kafka::Outbox outbox;
  outbox.add_log(index.index_log, put_log_cut(outbox.bytes(), {generation, index.engine->cut()}));
  RETURN_IF_ERROR(index.transactor->commit(outbox));
  index.position.log_offset = index.transactor->log_offset();
  return absl::OkStatus();
}

absl::Status release_log(KafkaIndex& index) {
  const std::string released = '/' + index.position.owner;
  kafka::Outbox outbox;
  outbox.add_log(index.index_log, put_log_owner(outbox.bytes(), {released, index.position.owner_settings}));
  RETURN_IF_ERROR(index.transactor->commit(outbox));
  index.position.log_offset = index.transactor->log_offset();
  index.position.owner = released;
  return absl::OkStatus();
}

absl::Status complete_rebuild(KafkaIndex& index, std::vector<LogProgress> progress) {
  for (LogProgress& p : progress) p.written_ms = 0;  // a rebuild commits no offsets of a group
  return write(index, progress, true);
}

}  // namespace doppel
