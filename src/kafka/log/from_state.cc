#include "kafka/log/kafka_index.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"
#include "engine/settings.h"
#include "kafka/log/offsets.h"
#include "kafka/log_reader.h"
#include "open/setup.h"
#include "state/journal.h"

namespace doppel {
namespace {

constexpr size_t kRowsAtOnce = 2000;
constexpr std::string_view kFromState = "state";
constexpr std::string_view kKeep = "keep";

// What an earlier, interrupted call has published.
struct Published {
  std::optional<LogEpoch> epoch;
  Seq next_seq = 0;
};

absl::StatusOr<Published> published(const KafkaPlan& plan) {
  ASSIGN_OR_RETURN(kafka::LogReader reader, kafka::LogReader::open(*plan.kafka, {plan.index_log.name, 0}));
  ASSIGN_OR_RETURN(const kafka::Watermarks bounds, reader.bounds());
  Published out;
  RETURN_IF_ERROR(reader.read(bounds.low, bounds.high, [&](const kafka::LogMessage& m) -> absl::Status {
    ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
    if (auto* epoch = std::get_if<LogEpoch>(&record)) out.epoch = std::move(*epoch);
    if (const auto* row = std::get_if<LogRow>(&record)) out.next_seq = row->seq + 1;
    return absl::OkStatus();
  }));
  return out;
}

class Publishing {
 public:
  Publishing(const Config& config, const KafkaPlan& plan, const std::string& offsets,
             const std::function<bool()>& stop)
      : o_(config.options), plan_(plan), offsets_(offsets), stop_(stop) {}

  absl::Status run(const HashKey& key) {
    ASSIGN_OR_RETURN(EngineOptions engine, engine_options(o_, key));
    if (const std::optional<LastCommit> last = last_commit(o_.state_directory))
      keep_banding(engine.rule, last->rule);
    epoch_.data_scheme = engine.scheme.describe();
    epoch_.num_perm = static_cast<uint32_t>(o_.num_perm);
    epoch_.mask_words = static_cast<uint32_t>(engine.rule.banding.mask_words());
    epoch_.cluster = plan_.cluster;
    scheme_ = key.derive(epoch_.data_scheme);
    rule_ = describe_rule(engine.rule);
    ASSIGN_OR_RETURN(state_, StateDir::open({.directory = o_.state_directory,
                                             .data_scheme = epoch_.data_scheme,
                                             .rule = rule_,
                                             .num_perm = o_.num_perm,
                                             .mask_words = static_cast<int>(epoch_.mask_words)},
                                            {}));
    const Recovered& r = state_->recovered();
    rule_ = r.rule;
    if (r.fresh) return absl::FailedPreconditionError(o_.state_directory + ": holds no index to publish");
    ASSIGN_OR_RETURN(position_, kafka::decode_position(r.source_position));
    position_.expire.clock = r.clock;
    epoch_.epoch = state_->epoch();
    RETURN_IF_ERROR(choose_offsets());

    // Checked before the claim, because the claim ends a daemon that writes to this log.
    ASSIGN_OR_RETURN(const Published before, published(plan_));
    RETURN_IF_ERROR(check(before));
    kafka::TransactorOptions transactor;
    transactor.producer.transactions.id = plan_.transactional_id;
    transactor.producer.transactions.batch_bytes_max = plan_.batch_bytes_max;
    transactor.index_log = log();
    transactor.owner = fmt::format("rebuild/{}/{}", ::getpid(), Clock::unix_ms());
    ASSIGN_OR_RETURN(transactor_, kafka::Transactor::open(*plan_.kafka, transactor, stop_));
    RETURN_IF_ERROR(begin());
    RETURN_IF_ERROR(rows());
    return finish();
  }

 private:
  const std::string& log() const { return plan_.index_log.name; }

  absl::Status check(const Published& before) const {
    if (!before.epoch || (before.epoch->epoch == epoch_.epoch && !before.epoch->complete &&
                          before.epoch->rebuilt_from == kFromState)) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        fmt::format("the index log {} already holds index {}; a lost log is published to a new topic", log(),
                    epoch_string(before.epoch->epoch)));
  }

  // Replaces the progress, whose offsets belong to another cluster, by the offsets that the user gave.
  absl::Status choose_offsets() {
    for (auto& [place, p] : position_.progress) {  // ids and the group's offsets belong to a cluster, too
      p.topic_id = p.former_id = "";
      p.written_ms = 0;
    }
    if (offsets_.empty() || offsets_ == kKeep) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<ChosenOffset> chosen, read_chosen_offsets(offsets_));
    std::map<std::pair<std::string, int32_t>, LogProgress> progress;
    for (const ChosenOffset& c : chosen) {
      ASSIGN_OR_RETURN(const int64_t next, offset_of(c, *plan_.kafka));
      const std::pair place(c.place.topic, c.place.partition);
      const auto before = position_.progress.find(place);
      LogProgress p{.topic = c.place.topic, .partition = c.place.partition, .next = next};
      if (before != position_.progress.end()) p.highest_ms = before->second.highest_ms;
      for (const auto& [other, old] : position_.progress) {  // a topic's partitions have one incarnation
        if (other.first != c.place.topic || mutated(Mutation::a_moved_index_keeps_its_places) ||
            old.incarnation < p.incarnation)
          continue;
        p.incarnation = old.incarnation + 1;  // here the same offset may be another record
        p.moved = mutated(Mutation::a_moved_index_forgets_its_topics) ? 0 : old.moved + 1;
      }
      progress.emplace(place, std::move(p));
    }
    for (const auto& [place, p] : position_.progress) {
      if (progress.contains(place)) continue;
      return invalid(fmt::format("{}: there is no line for {}/{}, which the index has read up to offset {}",
                                 offsets_, place.first, place.second, p.next));
    }
    position_.progress = std::move(progress);
    return absl::OkStatus();
  }

  absl::Status begin() {
    epoch_.rebuilt_from = kFromState;  // also of the epoch that ends a log which this call only continues
    ASSIGN_OR_RETURN(const Published before, published(plan_));
    RETURN_IF_ERROR(check(before));
    if (before.epoch) {
      from_ = before.next_seq;
      return absl::OkStatus();
    }
    epoch_.complete = false;
    outbox_.add_log(log(), put_log_epoch(outbox_.bytes(), epoch_));
    outbox_.add_log(log(), put_log_rule(outbox_.bytes(), {rule_}));
    return send();
  }

  absl::Status send() {
    RETURN_IF_ERROR(transactor_->commit(outbox_));
    outbox_.clear();
    if (stop_()) return absl::CancelledError("interrupted; the same command continues");
    return absl::OkStatus();
  }

  absl::Status rows() {
    const Recovered& r = state_->recovered();
    rule_ = r.rule;
    std::string body;
    absl::Status status;
    size_t in_outbox = 0;
    auto logged = Clock::now();
    RETURN_IF_ERROR(state_->load_rows([&](const StoredRow& row) {
      if (!status.ok() || row.seq < from_) return;
      if (row.row.body.size != 0) {
        absl::StatusOr<Body> read = state_->bodies().read(row.row.body, body);
        if (!read.ok()) {
          status = read.status();
          return;
        }
        outbox_.add_log(log(), put_log_row(outbox_.bytes(), row, o_.num_perm,
                                           static_cast<int>(epoch_.mask_words), scheme_, *read));
      }
      if (const std::string* copy = state_->shown(row.seq); copy != nullptr)
        outbox_.add_log(log(), put_log_shown(outbox_.bytes(), {.seq = row.seq, .copy = *copy}));
      if (row.removed)
        outbox_.add_log(log(),
                        put_log_removed(outbox_.bytes(), {.seq = row.seq, .trusted_ms = row.trusted_ms}));
      if (++in_outbox < kRowsAtOnce) return;
      in_outbox = 0;
      status = send();
      const auto now = Clock::now();
      if (now - logged < std::chrono::seconds(2)) return;
      logged = now;
      log::info("publishing the index log",
                {{"done", row.seq - r.first_row}, {"of", r.next_seq - r.first_row}});
    }));
    return status;
  }

  // Ends the log with the progress of the input and an epoch that says it is complete.
  absl::Status finish() {
    outbox_.add_log(log(), put_log_expire(outbox_.bytes(), position_.expire));
    for (const LogProgress& p : position_.progress_list())
      outbox_.add_log(log(), put_log_progress(outbox_.bytes(), p));
    epoch_.complete = true;
    outbox_.add_log(log(), put_log_epoch(outbox_.bytes(), epoch_));
    RETURN_IF_ERROR(transactor_->commit(outbox_));
    const Recovered& r = state_->recovered();
    rule_ = r.rule;
    position_.cluster = plan_.cluster;
    position_.index_log = log();
    position_.log_offset = transactor_->log_offset();
    position_.covered_ms = Clock::unix_ms();
    RETURN_IF_ERROR(state_->commit({.lowest_live = r.lowest_live,
                                    .source_position = encode_position(position_),
                                    .clock = r.clock,
                                    .documents = r.documents,
                                    .keep_from = std::min(position_.expire.announced, r.lowest_live)}));
    RETURN_IF_ERROR(state_->checkpoint());
    log::info("the index log is published again",
              {{"index_log", log()}, {"originals", r.next_seq - r.first_row}});
    return absl::OkStatus();
  }

  const Options& o_;
  const KafkaPlan& plan_;
  const std::string& offsets_;
  std::function<bool()> stop_;
  std::unique_ptr<StateDir> state_;
  std::string rule_;
  uint64_t scheme_ = 0;
  LogEpoch epoch_;
  kafka::KafkaPosition position_;
  Seq from_ = 0;
  kafka::Outbox outbox_;
  std::unique_ptr<kafka::Transactor> transactor_;
};

// Called before anything is created in the cluster.
absl::Status refuse_other_cluster(const Options& o, const std::string& cluster) {
  const std::optional<LastCommit> last = last_commit(o.state_directory);
  if (!last) return absl::OkStatus();
  const absl::StatusOr<kafka::KafkaPosition> at = kafka::decode_position(last->record.source_position);
  if (!at.ok() || at->cluster == cluster || at->progress.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "{} belongs to the cluster {}, and this one is {}: choose where the input continues. --offsets keep: "
      "at the same offsets, if the topics hold the same records there (a mirror); --offsets FILE: as a file "
      "says, with a line TOPIC/PARTITION=WHERE for each partition (an offset, beginning, end, or a time)",
      o.state_directory, at->cluster, cluster));
}

}  // namespace

absl::Status log_from_state(const Config& config, kafka::Cluster& cluster, const std::string& offsets,
                            PlanOptions how) {
  const Options& o = config.options;
  if (!offsets.empty() && offsets != kKeep) RETURN_IF_ERROR(read_chosen_offsets(offsets).status());
  std::string note;
  ASSIGN_OR_RETURN(const HashKey key, choose_hash_key(o, note));
  how.accept = [&](const std::string& id) {
    return offsets.empty() ? refuse_other_cluster(o, id) : absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const KafkaPlan plan, plan_kafka(o, cluster, how));
  return Publishing(config, plan, offsets, how.stop).run(key);
}

}  // namespace doppel
