#include "roles/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "daemon/daemon.h"
#include "daemon/report.h"
#include "daemon/requests.h"
#include "daemon/web.h"
#include "fetch/fetch_source.h"
#include "intake/to_topic.h"
#include "kafka/log/identity.h"
#include "kafka/log/kafka_index.h"
#include "kafka/log/offsets.h"
#include "kafka/log/standby.h"
#include "kafka/source.h"
#include "kafka/topics/plan.h"
#include "metrics/kafka_metrics.h"
#include "open/originals.h"
#include "open/setup.h"
#include "shards/remote_answers.h"
#include "shards/resolver_watch.h"
#include "signing/sign_topic.h"
#include "state/file.h"
#include "state/index_log.h"

namespace doppel {
namespace {

// The sink of a dry run.
class NoSink final : public Sink {
 public:
  absl::Status write(const Decided&) override { return absl::OkStatus(); }
  std::string position() const override { return {}; }
};

// The temporary state directory of a dry run, so that neither snapshots nor topics change.
class DryRun {
 public:
  DryRun() = default;
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;
  ~DryRun() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  // Returns the options with the temporary directory. Returns them unchanged if this is not a dry run.
  absl::StatusOr<Options> options_of(Options o) {
    if (!o.dry_run) return o;
    std::string place = join(temporary_place(""), "doppel-dry-run-XXXXXX");
    if (::mkdtemp(place.data()) == nullptr) return io_error(place + ": cannot be created for a dry run");
    directory_ = o.state_directory = place;
    o.kafka.create_topics = false;
    return o;
  }

 private:
  std::string directory_;
};

std::vector<PageData::Lag> lags_of(const kafka::ConsumerStatistics& statistics,
                                   const std::vector<SettledPartition>& all_settled) {
  std::vector<PageData::Lag> out;
  for (const auto& partition : statistics.partitions) {
    PageData::Lag& lag = out.emplace_back(
        PageData::Lag{.topic = partition.topic, .partition = partition.partition, .records = -1});
    for (const SettledPartition& settled : all_settled) {
      if (settled.topic != partition.topic || settled.partition != partition.partition) continue;
      lag.records = lag_of(partition, settled);
      if (lag.records == 0) lag.seconds = 0;
      if (lag.records > 0 && settled.last_ms >= 0)
        lag.seconds = static_cast<double>(std::max<int64_t>(0, Clock::unix_ms() - settled.last_ms)) / 1e3;
    }
  }
  return out;
}

// Opens the parts of a daemon in order; each part uses those before it.
class Daemon {
 public:
  Daemon(const Config& config, const Options& o, kafka::Cluster& cluster, const ServeKafka& how)
      : config_(config), o_(o), cluster_(cluster), how_(how) {}

  absl::Status serve() {
    RETURN_IF_ERROR(begin());
    RETURN_IF_ERROR(find_topics());
    RETURN_IF_ERROR(open_index());
    if (!o_.dry_run) index_->transactor->send_offsets_to(o_.kafka.group);
    if (!o_.dry_run && how_.real)
      index_->transactor->wait_for_rights([this] { return missing_rights(o_, cluster_); });
    do {
      RETURN_IF_ERROR(change_offsets());
      close_input();
      RETURN_IF_ERROR(open_input());
      show_index();
      if (o_.dry_run) return judge();
      RETURN_IF_ERROR(move_to(source_->beginnings()));
      if (o_.cluster.decides() && answers_ == nullptr) RETURN_IF_ERROR(open_answers());
      RETURN_IF_ERROR(publish());
    } while (offsets_->any() && !stop_());
    release();
    return index_->state->checkpoint();
  }

 private:
  absl::Status begin() {
    if (o_.kafka.produce_from_http && !o_.cluster.is_part()) {
      intake_ = std::make_shared<TopicIntake>(
          TopicIntakeOptions{.format = o_.input, .topic = o_.kafka.topics.front()});
    }
    const auto add_routes = [this](http::Server& server) {
      if (intake_ != nullptr) intake_->route(server);
    };
    ASSIGN_OR_RETURN(
        daemon_, DaemonParts::begin(config_, o_, {.kafka = true, .stop = how_.stop, .routes = add_routes}));
    stop_ = daemon_->stopper();
    log::info("starting",
              {{"brokers", o_.kafka.brokers}, {"index_log", o_.kafka.index_log}, {"dry_run", o_.dry_run}});
    return absl::OkStatus();
  }

  absl::Status find_topics() {
    const PlanOptions waiting{.stop = stop_, .await_topics = true, .accept = [this](const std::string& id) {
                                return refuse_state_of_another_log(cluster_, {id, o_.kafka.index_log},
                                                                   o_.state_directory);
                              }};
    ASSIGN_OR_RETURN(plan_, plan_kafka(o_, cluster_, how_.real ? real_cluster(o_, waiting) : waiting));
    return absl::OkStatus();
  }

  // Returns when it is our turn to write the index log.
  absl::Status open_index() {
    if (o_.kafka.takeover == Takeover::standby && !o_.dry_run) {
      ASSIGN_OR_RETURN(standby_, Standby::join(o_, plan_, daemon_->monitor.progress_reports()));
    }
    ASSIGN_OR_RETURN(
        index_, open_kafka_index({.options = o_,
                                  .plan = plan_,
                                  .key = daemon_->key,
                                  .read_only = o_.dry_run,
                                  .elsewhere = o_.cluster.decides(),
                                  .owner = how_.owner,
                                  .sync_on = how_.step_by_step ? std::launch::deferred : std::launch::async,
                                  .standby = &standby_,
                                  .stop = stop_,
                                  .restoring = daemon_->monitor.progress_reports()}));
    return absl::OkStatus();
  }

  // Releases the log, so that a standby claims it at once.
  void release() {
    // Do not wait for brokers that do not answer.
    absl::Status released =
        cluster_.watermarks({plan_.index_log.name, 0}, kafka::Isolation::committed).status();
    if (released.ok()) released = release_log(*index_);
    if (released.ok()) released = commit_position(*index_);
    if (!released.ok()) {
      log::warn("the index log is not released; a standby waits until this daemon counts as dead",
                {{"says", std_sv(released.message())}});
    }
  }

  // Carries out the requests of `doppel offsets` before any input is read.
  absl::Status change_offsets() {
    if (o_.dry_run) return absl::OkStatus();
    if (!offsets_) offsets_.emplace(o_.state_directory);
    return offsets_->carry_out([this](const std::string& line) -> absl::StatusOr<std::string> {
      ASSIGN_OR_RETURN(const OffsetsWanted wanted, OffsetsWanted::parse(line));
      if (o_.cluster.is_part())
        return invalid("the input of an index on many machines is an order that all of its processes share");
      absl::StatusOr<std::vector<OffsetChange>> changes;
      RETURN_IF_ERROR(patiently(stop_, [&] {
        changes = plan_offsets(wanted, index_->position, plan_.inputs, cluster_);
        return changes.status();
      }));
      std::vector<LogProgress> after;
      std::string text;
      for (const OffsetChange& change : *changes) {
        if (change.any()) after.push_back(change.after);
        text += change.text() + "\n";
      }
      if (!after.empty()) RETURN_IF_ERROR(index_->transactor->await_last());
      RETURN_IF_ERROR(move_to(after));
      return text;
    });
  }

  absl::Status move_to(std::vector<LogProgress> progress) {
    if (progress.empty()) return absl::OkStatus();
    for (LogProgress& p : progress) p.written_ms = Clock::unix_ms();  // the group's offsets go with it
    RETURN_IF_ERROR(write_progress(*index_, progress));
    return commit_position(*index_);
  }

  void close_input() {
    watched_input_.clear();
    shown_.reset();
    kept_.reset();
    fetching_.reset();
    schemas_.reset();
    source_.reset();
  }

  // The input continues where the index log says. The group's offsets have no effect.
  absl::Status open_input() {
    kafka::KafkaSourceOptions options = kafka_source_options(o_, plan_.inputs, stop_);
    options.in_background = !how_.step_by_step;
    options.pace = &pace_;
    options.moves_group = !o_.dry_run;
    if (how_.real) options.missing_rights = [this] { return missing_rights(o_, cluster_); };
    const std::vector<LogProgress> from = index_->position.progress_list();
    ASSIGN_OR_RETURN(source_, kafka::KafkaSource::open(cluster_, options, from));
    schemas_ = schemas_from(*source_, o_);
    ASSIGN_OR_RETURN(fetching_, fetch_from(input(), fetch_options(o_, stop_), *index_->engine));
    if (schemas_ != nullptr) watched_input_.push_back(daemon_->monitor.watch(schemas_->stats()));
    watched_input_.push_back(daemon_->monitor.watch(*source_, from));
    if (fetching_ != nullptr) watched_input_.push_back(daemon_->monitor.watch(*fetching_));
    return absl::OkStatus();
  }

  Source& input() { return outer_of(*source_, schemas_.get()); }

  void show_index() {
    daemon_->monitor.progress(*index_->engine, *index_->state);
    kept_ = kept_originals(*index_->state, *index_->engine);
    shown_.emplace(WebParts{.config = config_,
                            .engine = *index_->engine,
                            .originals = *kept_,
                            .bodies = index_->state->bodies(),
                            .keys = key_policy(o_)});
    shown_->lags = [this, statistics = source_->statistics()] {
      return lags_of(statistics->get(), daemon_->monitor.metrics().stream().settled());
    };
    if (o_.cluster.decides())
      shown_->cluster = [this] { return cluster_part(watch_.status(), Clock::unix_ms()); };
  }

  // The run of a dry run: decides and discards the results.
  absl::Status judge() {
    Web web(daemon_->server.get(), *shown_);
    ready();
    NoSink sink;
    Report report(index_->engine->originals());
    return decide(*daemon_, parts(sink, web, report));
  }

  // Only for a resolver: matchers hold the originals and answer which of them resemble a document.
  absl::Status open_answers() {
    generation_ = make_owner_name();
    ASSIGN_OR_RETURN(answers_,
                     RemoteAnswers::open(cluster_, {.topic = answers_topic(o_),
                                                    .generation = generation_,
                                                    .engine = *index_->engine,
                                                    .stop = stop_,
                                                    .still_ours = [this] { return sink_->still_ours(); },
                                                    .watch = watch_}));
    watched_.push_back(daemon_->monitor.metrics().pull(
        [this](Families& out) { collect_resolver(out, watch_.status(), Clock::unix_ms()); }));
    return write_generation(*index_, generation_);
  }

  absl::Status publish() {
    kafka::KafkaSinkOptions options = sink_options(o_, plan_, *index_);
    options.generation = generation_;
    options.pace = &pace_;
    options.waiting = [this] { (void)stop_(); };
    options.commit =
        how_.step_by_step ? kafka::CommitThread::Where::in_turn : kafka::CommitThread::Where::own_thread;
    sink_.emplace(cluster_, options, *index_->engine, *index_->originals, *index_->transactor,
                  index_->position);
    SnapshotJournal journal(*index_, *sink_);
    const std::shared_ptr<void> watched = daemon_->monitor.watch(*index_->transactor);
    Forgetting forgetting(*kept_, index_->state->bodies(),
                          how_.step_by_step ? Forgetting::Search::in_turn : Forgetting::Search::own_thread);
    ForgetRequests requests(o_.state_directory, forgetting);
    shown_->forgetting = &forgetting;
    shown_->snapshots = [this] { return index_->state->checkpoint_stats(); };
    shown_->checkpoint = [this] { return index_->state->checkpoint(); };
    Web web(daemon_->server.get(), *shown_);
    if (intake_ != nullptr) intake_->open(cluster_, options.context);
    ready();
    Report report(index_->engine->originals());
    Deciding deciding = parts(*sink_, web, report);
    deciding.journal = &journal;
    deciding.answer_source = answers_.get();
    deciding.requests = [&](Work& work) {
      standby_.keep();
      requests.look();
      return forgetting.fill(work) || sink_->has_more_to_do();
    };
    deciding.interrupted = [&] { return offsets_->any(); };
    deciding.settled = [&] {
      forgetting.settled();
      requests.answer();
    };
    if (intake_ != nullptr) deciding.observe = [&](const Decided& decided) { intake_->settled(decided); };
    absl::Status ran = decide(*daemon_, deciding);
    if (intake_ != nullptr) intake_->close();
    index_->position = sink_->where();
    if (ran.ok()) return ran;
    how_.ending(ran);  // destroying clients takes long if their broker does not answer
    // InvalidArgument and NotFound mean that a start is useless. But this daemon ran, so a restart may help.
    if (absl::IsInvalidArgument(ran) || absl::IsNotFound(ran)) return absl::InternalError(ran.message());
    return ran;
  }

  Deciding parts(Sink& sink, Web& web, Report& report) {
    return {.source = input(),
            .fetching = fetching_.get(),
            .engine = *index_->engine,
            .state = *index_->state,
            .sink = sink,
            .keys = key_policy(o_),
            .web = web,
            .report = report};
  }

  void ready() {
    daemon_->monitor.ready(*index_->engine);
    log::info("ready", {{"partitions", source_->partitions()},
                        {"originals", index_->engine->originals().stats().live},
                        {"epoch", epoch_string(index_->epoch.epoch)}});
    notify::ready();
  }

  const Config& config_;
  const Options& o_;  // the configured options, or those of a dry run
  kafka::Cluster& cluster_;
  const ServeKafka& how_;
  std::function<bool()> stop_;
  std::unique_ptr<DaemonParts> daemon_;
  KafkaPlan plan_;
  Standby standby_;
  std::unique_ptr<KafkaIndex> index_;
  kafka::Pace pace_ = kafka_pace(o_, o_.kafka.transaction_timeout_ms);
  std::unique_ptr<kafka::KafkaSource> source_;
  std::unique_ptr<SchemaSource> schemas_;
  std::unique_ptr<FetchSource> fetching_;
  std::unique_ptr<KeptOriginals> kept_;
  std::optional<WebParts> shown_;
  ResolverWatch watch_{static_cast<uint64_t>(o_.cluster.ahead)};
  std::string generation_;  // of a resolver: one for each run of the process
  std::unique_ptr<RemoteAnswers> answers_;
  std::optional<kafka::KafkaSink> sink_;
  std::vector<std::shared_ptr<void>> watched_, watched_input_;  // keep parts in /metrics
  std::optional<OffsetRequests> offsets_;
  std::shared_ptr<TopicIntake> intake_;  // null: no documents by HTTP
};

}  // namespace

absl::Status serve_kafka(const Config& config, kafka::Cluster& cluster, const ServeKafka& how) {
  if (config.options.state_directory.empty())
    return invalid("state.directory: serve needs a directory for its snapshots and its hash key");
  DryRun dry_run;
  ASSIGN_OR_RETURN(const Options o, dry_run.options_of(config.options));
  RETURN_IF_ERROR(check_format(o.input));
  // Refuse a directory that is in use before waiting for Kafka.
  RETURN_IF_ERROR(make_directories(o.state_directory));
  RETURN_IF_ERROR(lock_directory(o.state_directory).status());
  return Daemon(config, o, cluster, how).serve();
}

}  // namespace doppel
