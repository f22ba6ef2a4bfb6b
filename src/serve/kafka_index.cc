#include "serve/kafka_index.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>

#include "base/bytes.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "serve/embedded_state.h"
#include "serve/log_restorer.h"
#include "serve/setup.h"
#include "serve/state_originals.h"
#include "state/lock.h"
#include "state/scheme.h"
#include "stream/kafka/log_reader.h"

namespace doppel {
namespace {

using kafka::KafkaPosition;
using kafka::LogReader;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Who the log says it is: read from its beginning until that is known.
struct LogIdentity {
  std::optional<LogEpoch> epoch;
};

absl::StatusOr<LogIdentity> read_identity(LogReader& log, const kafka::Watermarks& bounds) {
  LogIdentity out;
  const absl::Status found = absl::CancelledError("found");
  absl::Status status = log.read(bounds.low, bounds.high, [&](const kafka::LogMessage& m) -> absl::Status {
    if (m.key.size() == sizeof(Seq)) return absl::OkStatus();
    ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
    if (auto* epoch = std::get_if<LogEpoch>(&record)) out.epoch = std::move(*epoch);
    // Of an unfinished rebuild all of it is read: the end may say that it is finished.
    return out.epoch && out.epoch->complete ? found : absl::OkStatus();
  });
  if (!status.ok() && status != found) return status;
  return out;
}

absl::Status refuse(const std::string& what, const std::vector<std::string>& differences) {
  if (differences.empty()) return absl::OkStatus();
  std::string message = what;
  for (const std::string& difference : differences) message.append("\n  ").append(difference);
  return absl::FailedPreconditionError(message);
}

// A process's name in the log, unique.
std::string owner_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}/{}/{}", host.data(), ::getpid(), kafka::now_ms());
}

class Opening {
 public:
  explicit Opening(const KafkaIndexOptions& options) : options_(options), o_(options.options) {}

  absl::StatusOr<std::unique_ptr<KafkaIndex>> open() {
    ASSIGN_OR_RETURN(engine_options_, engine_options(o_, options_.key));
    engine_options_.track_ids = o_.tombstones == "key" || o_.on_update == "replace";
    scheme_text_ = engine_options_.scheme.describe();
    rule_text_ = describe_rule(engine_options_.rule);
    index_->scheme = options_.key.derive(scheme_text_);

    // Somebody who uses the directory is left alone; somebody who only writes the log is fenced.
    RETURN_IF_ERROR(make_directories(o_.state_directory));
    RETURN_IF_ERROR(lock_directory(o_.state_directory).status());
    if (!options_.read_only) RETURN_IF_ERROR(open_transactor());
    ASSIGN_OR_RETURN(LogReader log, LogReader::open(options_.plan.client, options_.plan.index_log.name));
    ASSIGN_OR_RETURN(const kafka::Watermarks bounds, log.bounds());
    ASSIGN_OR_RETURN(LogIdentity identity, read_identity(log, bounds));
    RETURN_IF_ERROR(check_identity(identity, bounds));
    RETURN_IF_ERROR(open_snapshot(identity, bounds));
    RETURN_IF_ERROR(restore(log, bounds));
    if (!options_.read_only) RETURN_IF_ERROR(take_over(identity));
    return std::move(index_);
  }

 private:
  absl::Status open_transactor() {
    kafka::TransactorOptions transactor{
        .producer = {.client = options_.plan.client,
                     .transactional_id = options_.plan.transactional_id,
                     .transaction_timeout_ms = static_cast<int>(o_.kafka.transaction_timeout_ms),
                     .commit_deadline_ms = static_cast<int>(o_.kafka.commit_deadline_ms),
                     .message_bytes_max = options_.plan.message_bytes_max},
        .index_log = options_.plan.index_log.name,
        .owner = owner_name()};
    owner_ = transactor.owner;
    ASSIGN_OR_RETURN(index_->transactor, kafka::Transactor::open(transactor, options_.stop));
    for (const kafka::OutputTopic& topic :
         {options_.plan.index_log, options_.plan.events, options_.plan.dead_letters, options_.plan.unique})
      if (!topic.name.empty()) index_->transactor->know_topic(topic.name);
    return absl::OkStatus();
  }

  absl::Status check_identity(const LogIdentity& identity, const kafka::Watermarks& bounds) {
    const std::string& log = options_.plan.index_log.name;
    index_->index_log = log;
    if (identity.epoch) index_->epoch = *identity.epoch;
    if (!identity.epoch) {
      if (options_.read_only && !o_.dry_run)
        return absl::NotFoundError(fmt::format("the index log {} holds no index yet", log));
      if (bounds.high > 0 && bounds.high > bounds.low)
        return absl::FailedPreconditionError(fmt::format(
            "the topic {} holds records but no index; set kafka.index_log to a topic of its own", log));
      return absl::OkStatus();
    }
    if (identity.epoch->cluster != options_.plan.cluster) {
      return absl::FailedPreconditionError(fmt::format(
          "the index log {} was written in the cluster {}, this one is {}: its offsets mean nothing here; "
          "doppel rebuild --from documents makes a new index",
          log, identity.epoch->cluster, options_.plan.cluster));
    }
    RETURN_IF_ERROR(refuse(
        fmt::format("the index log {} was made with another data scheme: its signatures do not compare with "
                    "this configuration's. Use those settings, or doppel rebuild --from documents",
                    log),
        scheme_differences(identity.epoch->data_scheme, scheme_text_)));
    if (options_.rebuilt_from && identity.epoch->complete) {
      return absl::FailedPreconditionError(
          fmt::format("the index log {} holds a finished index; a rebuild needs a log of its own", log));
    }
    if (!options_.rebuilt_from && !options_.read_only && !identity.epoch->complete) {
      return absl::FailedPreconditionError(fmt::format(
          "the index log {} is an unfinished rebuild; run the same doppel rebuild again to finish it", log));
    }
    return absl::OkStatus();
  }

  // The same documents under the same settings: the same index, byte for byte.
  Epoch epoch_of_rebuild() const {
    const std::string of = scheme_text_ + rule_text_ + options_.plan.cluster + *options_.rebuilt_from;
    Epoch out{};
    store(out.data(), options_.key.derive("epoch" + of));
    store(out.data() + 8, options_.key.derive("of a rebuild" + of));
    out[6] = static_cast<uint8_t>((out[6] & 0x0f) | 0x80);  // a UUID of version 8
    out[8] = static_cast<uint8_t>((out[8] & 0x3f) | 0x80);
    return out;
  }

  StateOptions state_options(const LogIdentity& identity) const {
    StateOptions out{.directory = o_.state_directory,
                     .data_scheme = scheme_text_,
                     .rule = rule_text_,
                     .accepted = o_.accept_rule_change,
                     .num_perm = o_.num_perm,
                     .mask_words = (engine_options_.rule.banding.bands + 31) / 32,
                     .fsync = o_.fsync == "none"     ? Fsync::none
                              : o_.fsync == "commit" ? Fsync::commit
                                                     : Fsync::checkpoint,
                     .checkpoint_documents = o_.checkpoint_documents,
                     .checkpoint_interval_ms = o_.checkpoint_interval_ms,
                     .snapshots = o_.snapshots};
    if (identity.epoch) {
      out.epoch = identity.epoch->epoch;
    } else if (options_.rebuilt_from) {
      out.epoch = epoch_of_rebuild();
    }
    return out;
  }

  // The newest good snapshot, or none: a damaged or outdated one is set aside, because the log has
  // everything.
  absl::Status open_snapshot(const LogIdentity& identity, const kafka::Watermarks& bounds) {
    const StateOptions options = state_options(identity);
    for (bool again : {true, false}) {
      absl::StatusOr<std::unique_ptr<StateDir>> state = StateDir::open(options, {});
      std::string unusable;
      if (state.ok()) {
        index_->state = *std::move(state);
        ASSIGN_OR_RETURN(unusable, unusable_because(identity, bounds));
        if (again && options_.fresh_state && !index_->state->recovered().fresh)
          unusable = "the log alone is wished for";
        if (unusable.empty()) return absl::OkStatus();
        index_->state.reset();
      } else if (absl::IsDataLoss(state.status()) && identity.epoch) {
        unusable = std_sv(state.status().message());
      } else {
        return state.status();
      }
      if (!again) return absl::InternalError("the state directory cannot be made anew: " + unusable);
      log::warn("the snapshot is set aside; the index is read from its log",
                {{"directory", o_.state_directory}, {"because", unusable}});
      RETURN_IF_ERROR(discard_state(o_.state_directory));
    }
    return absl::OkStatus();
  }

  // Why the snapshot cannot be completed from the log, though it is good in itself; empty: it can.
  absl::StatusOr<std::string> unusable_because(const LogIdentity& identity, const kafka::Watermarks& bounds) {
    const Recovered& r = index_->state->recovered();
    KafkaPosition& position = index_->position;
    position = {.cluster = options_.plan.cluster,
                .index_log = options_.plan.index_log.name,
                .log_offset = bounds.low};
    if (r.fresh) return std::string();
    ASSIGN_OR_RETURN(KafkaPosition at, kafka::decode_position(r.source_position));
    at.expire.clock = r.clock;
    const std::string log = options_.plan.index_log.name;
    if (!identity.epoch || bounds.high < at.log_offset) {
      return absl::FailedPreconditionError(fmt::format(
          "the index log {} ends at offset {}, but {} was completed from it up to {}: the log was lost or "
          "made anew. "
          "doppel rebuild --from state publishes it again; a new index needs a new state directory",
          log, bounds.high, o_.state_directory, at.log_offset));
    }
    if (at.index_log != log || at.cluster != options_.plan.cluster)
      return fmt::format("it belongs to the index log {} of cluster {}", at.index_log, at.cluster);
    const int64_t valid_until = at.covered_ms + options_.plan.log_delete_retention_ms / 2;
    if (kafka::now_ms() > valid_until && at.log_offset < bounds.high)
      return fmt::format("it is older than half of the log's delete.retention.ms ({} ms)",
                         options_.plan.log_delete_retention_ms);
    position = std::move(at);
    index_->documents = r.documents;
    return std::string();
  }

  absl::Status restore(LogReader& log, const kafka::Watermarks& bounds) {
    const Clock::time_point start = Clock::now();
    const Recovered r = index_->state->recovered();
    for (const std::string& note : r.notes) log::warn("state", {{"note", note}});
    const uint64_t expected =
        r.next_seq - r.first_row + static_cast<uint64_t>(bounds.high - index_->position.log_offset);
    engine_options_.initial_capacity = std::max<uint64_t>(1024, expected);
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
    const double snapshot_seconds = seconds_since(start);

    LogRestorer restorer(*index_->state, engine, index_->scheme, index_->position, index_->documents);
    const int64_t from = index_->position.log_offset;
    Clock::time_point said = Clock::now();
    notify::still_starting(
        fmt::format("reading the index log: {} records", std::max<int64_t>(bounds.high - from, 0)));
    const auto to_read = static_cast<uint64_t>(bounds.high - from);
    options_.restoring({"reading the index log", 0, to_read});
    RETURN_IF_ERROR(restorer.restore(log, bounds.high, [&](uint64_t) {
      options_.restoring(
          {"reading the index log", static_cast<uint64_t>(index_->position.log_offset - from), to_read});
      if (Clock::now() - said < std::chrono::seconds(2)) return;
      said = Clock::now();
      const double done = static_cast<double>(index_->position.log_offset - from);
      const double all = static_cast<double>(std::max<int64_t>(bounds.high - from, 1));
      notify::still_starting(fmt::format("reading the index log: {:.0f} %", 100 * done / all));
      const double rate = done / std::max(seconds_since(start) - snapshot_seconds, 1e-3);
      log::info("reading the index log",
                {{"offset", index_->position.log_offset},
                 {"end", bounds.high},
                 {"per_second", static_cast<uint64_t>(rate)},
                 {"seconds_left", (bounds.high - index_->position.log_offset) / std::max(rate, 1.0)}});
    }));
    // What came from the log becomes durable while the tables are built.
    if (restorer.rows() != 0) index_->state->begin_checkpoint();
    engine.finish_restore(thread_count(o_));
    RETURN_IF_ERROR(check_rule(restorer.rule().value_or(rule_text_)));
    const IndexStats stats = engine.index().stats();
    log::info("the index is restored", {{"originals", stats.live},
                                        {"from_snapshot", r.next_seq - r.first_row},
                                        {"from_log", restorer.rows()},
                                        {"snapshot_seconds", snapshot_seconds},
                                        {"seconds", seconds_since(start)}});
    if (index_->transactor) index_->transactor->start_at(index_->position.log_offset);
    return absl::OkStatus();
  }

  // The rule of a snapshot was compared by the state directory; this is the last one that the log read here
  // tells.
  absl::Status check_rule(const std::string& rule) {
    RETURN_IF_ERROR(
        refuse(fmt::format("the index log {} was made under another rule; use it, or accept the change by "
                           "name (accept_rule_change)",
                           options_.plan.index_log.name),
               rule_differences(rule, rule_text_, o_.accept_rule_change)));
    return absl::OkStatus();
  }

  // Writes our name into the log, and into a new one what the index is.
  absl::Status take_over(const LogIdentity& identity) {
    kafka::Outbox outbox;
    const std::string& log = options_.plan.index_log.name;
    if (!identity.epoch) {
      index_->epoch = {.epoch = index_->state->epoch(),
                       .cluster = options_.plan.cluster,
                       .data_scheme = scheme_text_,
                       .num_perm = static_cast<uint32_t>(o_.num_perm),
                       .mask_words = static_cast<uint32_t>((engine_options_.rule.banding.bands + 31) / 32),
                       .complete = !options_.rebuilt_from,
                       .rebuilt_from = options_.rebuilt_from.value_or("")};
      outbox.add_log(log, put_log_epoch(outbox.bytes(), index_->epoch));
      outbox.add_log(log, put_log_rule(outbox.bytes(), {rule_text_}));
    }
    // Under a rule that was accepted by name the log goes on from here.
    if (identity.epoch && !o_.accept_rule_change.empty())
      outbox.add_log(log, put_log_rule(outbox.bytes(), {rule_text_}));
    outbox.add_log(log, put_log_owner(outbox.bytes(), {owner_}));
    RETURN_IF_ERROR(index_->transactor->commit(outbox));
    index_->position.log_offset = index_->transactor->log_offset();
    return absl::OkStatus();
  }

  KafkaIndexOptions options_;
  const Options& o_;
  EngineOptions engine_options_;
  std::string scheme_text_, rule_text_, owner_;
  std::unique_ptr<KafkaIndex> index_ = std::make_unique<KafkaIndex>();
};

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaIndex>> open_kafka_index(const KafkaIndexOptions& options) {
  return Opening(options).open();
}

namespace {

absl::Status write(KafkaIndex& index, const std::vector<LogProgress>& progress, bool completes) {
  kafka::Outbox outbox;
  for (const LogProgress& p : progress) {
    outbox.progress.push_back(p);
    outbox.add_log(index.index_log, put_log_progress(outbox.bytes(), p));
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

absl::Status complete_rebuild(KafkaIndex& index, const std::vector<LogProgress>& progress) {
  return write(index, progress, true);
}

}  // namespace doppel
