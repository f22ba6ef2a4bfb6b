#include "serve/serve_kafka.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "metrics/cluster_metrics.h"
#include "metrics/kafka_metrics.h"
#include "serve/cluster_shown.h"
#include "serve/firehose.h"
#include "serve/forget_requests.h"
#include "serve/kafka_run.h"
#include "serve/log_epoch.h"
#include "serve/log_writes.h"
#include "serve/monitor.h"
#include "serve/remote_answers.h"
#include "serve/report.h"
#include "serve/setup.h"
#include "serve/standby.h"
#include "serve/state_originals.h"
#include "serve/web.h"
#include "state/file.h"
#include "state/lock.h"
#include "stream/kafka/kafka_position.h"
#include "stream/kafka/kafka_source.h"
#include "stream/pipeline.h"

namespace doppel {
namespace {

// dry_run: judged, and then nothing.
class NoSink final : public Sink {
 public:
  absl::Status write(const Decided&) override { return absl::OkStatus(); }
  std::string position() const override { return {}; }
};

// A dry run reads the index into a directory of its own: neither snapshots nor topics change.
class DryRun {
 public:
  DryRun() = default;
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;
  ~DryRun() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  // The options themselves where it is none.
  absl::StatusOr<Options> options_of(Options o) {
    if (!o.dry_run) return o;
    const char* variable = std::getenv("TMPDIR");
    std::string place = !o.temporary_directory.empty()             ? o.temporary_directory
                        : variable != nullptr && *variable != '\0' ? variable
                                                                   : "/tmp";
    place += "/doppel-dry-run-XXXXXX";
    if (::mkdtemp(place.data()) == nullptr) return io_error(place + ": cannot be made for a dry run");
    directory_ = o.state_directory = place;
    o.kafka.create_topics = false;
    return o;
  }

 private:
  std::string directory_;
};

kafka::KafkaSourceOptions source_options(const Options& o, const KafkaPlan& plan, bool step_by_step,
                                         const std::function<bool()>& stop) {
  kafka::KafkaSourceOptions out = kafka_source_options(o, plan.inputs, stop);
  out.in_background = !step_by_step;
  return out;
}

// Everything that a run has in common; what differs is where its decisions go.
absl::Status run(const Options& o, Monitor& monitor, KafkaIndex& index, Source& source, FetchSource* fetching,
                 Answering* answering, Sink& sink, Journal* journal,
                 const std::function<bool(Work&)>& requests, const std::function<void()>& settled, Web& web) {
  Report report(index.engine->originals());
  FirehoseWatch firehose;
  Pipeline pipeline{.source = fetching != nullptr ? static_cast<Source&>(*fetching) : source,
                    .engine = *index.engine,
                    .sink = sink,
                    .journal = journal,
                    .answering = answering,
                    .format = o.input,
                    .keys = key_policy(o),
                    .threads = thread_count(o),
                    .stop = [&] { return monitor.stop(); },
                    .requests = requests,
                    .read_now = late_reader(fetching),
                    .observe =
                        [&](const Decided& decided, const BatchTimes& times) {
                          monitor.metrics().observe(decided, times);
                          web.observe(decided);
                          if (const std::string warning = firehose.observe(decided); !warning.empty())
                            log::warn(warning);
                        },
                    .progress =
                        [&](const Counters& counters) {
                          monitor.progress(*index.engine, *index.state);
                          settled();
                          web.progress(counters);
                          report.progress(counters);
                        }};
  const absl::StatusOr<Counters> counters = run_pipeline(pipeline);
  if (absl::IsDataLoss(counters.status()))
    mark_damaged(o.state_directory, std::string(counters.status().message()));
  RETURN_IF_ERROR(counters.status());
  report.end(*counters);
  if (fetching != nullptr) report_fetches(fetching->counts());
  return absl::OkStatus();
}

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

void say_ready(Monitor& monitor, const KafkaIndex& index, const kafka::KafkaSource& source) {
  monitor.ready(*index.engine);
  log::info("ready", {{"partitions", source.partitions()},
                      {"originals", index.engine->originals().stats().live},
                      {"epoch", epoch_string(index.epoch.epoch)}});
  notify::ready();
}

}  // namespace

absl::Status serve_kafka(const Config& config, kafka::Cluster& cluster, const ServeKafka& how) {
  if (config.options.state_directory.empty())
    return invalid("state.directory: serve needs a directory for its snapshots and its hash key");
  std::string note;
  ASSIGN_OR_RETURN(const HashKey key, config.options.dry_run ? hash_key_to_look_with(config.options)
                                                             : choose_hash_key(config.options, note));
  DryRun dry_run;
  ASSIGN_OR_RETURN(const Options o, dry_run.options_of(config.options));
  if (!note.empty()) log::warn(note);
  RETURN_IF_ERROR(check_format(o.input));
  RETURN_IF_ERROR(make_directories(o.state_directory));
  RETURN_IF_ERROR(
      lock_directory(o.state_directory).status());  // one in use is refused before Kafka is waited for

  ASSIGN_OR_RETURN(const EngineOptions engine, engine_options(o, key));
  Monitor monitor({.options = o, .rule = engine.rule, .kafka = true, .stop = how.stop});
  const auto stop = [&] { return monitor.stop(); };
  ASSIGN_OR_RETURN(const std::unique_ptr<http::Server> server, open_http(o));
  if (server != nullptr) monitor.answer(*server);
  monitor.restoring({"waiting for Kafka"});
  log::info("starting",
            {{"brokers", o.kafka.brokers}, {"index_log", o.kafka.index_log}, {"dry_run", o.dry_run}});
  const PlanOptions waiting{.stop = stop, .await_topics = true};
  ASSIGN_OR_RETURN(const KafkaPlan plan,
                   plan_kafka(o, cluster, how.real ? real_cluster(o, waiting) : waiting));
  Standby standby;
  if (o.kafka.takeover == "standby" && !o.dry_run) {
    ASSIGN_OR_RETURN(standby, Standby::join(o, plan, monitor.progress_reports()));
  }
  const auto where = how.step_by_step ? std::launch::deferred : std::launch::async;
  ASSIGN_OR_RETURN(const std::unique_ptr<KafkaIndex> index,
                   open_kafka_index({.options = o,
                                     .plan = plan,
                                     .key = key,
                                     .read_only = o.dry_run,
                                     .elsewhere = o.cluster.decides(),
                                     .owner = how.owner,
                                     .sync_on = where,
                                     .standby = &standby,
                                     .stop = stop,
                                     .restoring = monitor.progress_reports()}));

  // The input goes on where the index log says; the offsets of the group are only kept up to date.
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::KafkaSource> source,
                   kafka::KafkaSource::open(cluster, source_options(o, plan, how.step_by_step, stop),
                                            index->position.progress_list()));
  ASSIGN_OR_RETURN(const std::unique_ptr<FetchSource> fetching,
                   fetch_from(*source, fetch_options(o, stop), *index->engine));
  ResolverWatch watch(static_cast<uint64_t>(o.cluster.ahead));
  std::vector<std::shared_ptr<void>> watched{monitor.watch(*source, index->position.progress_list())};
  if (fetching != nullptr) watched.push_back(monitor.watch(*fetching));
  monitor.progress(*index->engine, *index->state);
  const std::unique_ptr<KeptOriginals> kept = kept_originals(*index->state, *index->engine);
  WebParts shown{.config = config,
                 .engine = *index->engine,
                 .originals = *kept,
                 .bodies = index->state->bodies(),
                 .keys = key_policy(o)};
  shown.lags = [&monitor, statistics = source->statistics()] {
    return lags_of(statistics->get(), monitor.metrics().stream().settled());
  };
  if (o.dry_run) {
    Web web(server.get(), shown);
    say_ready(monitor, *index, *source);
    NoSink sink;
    return run(
        o, monitor, *index, *source, fetching.get(), nullptr, sink, nullptr, [](Work&) { return false; },
        [] {}, web);
  }
  index->transactor->send_offsets_to(o.kafka.group);
  RETURN_IF_ERROR(write_progress(*index, source->beginnings()));
  kafka::KafkaSinkOptions sink_of = sink_options(o, plan, *index);
  std::unique_ptr<RemoteAnswers> answers;
  kafka::KafkaSink* deciding = nullptr;  // once it is there
  if (o.cluster.decides()) {
    sink_of.generation = make_owner_name();
    ASSIGN_OR_RETURN(answers,
                     RemoteAnswers::open(cluster, {.topic = answers_topic(o),
                                                   .generation = sink_of.generation,
                                                   .engine = *index->engine,
                                                   .stop = stop,
                                                   .still_ours = [&] { return deciding->still_ours(); },
                                                   .watch = watch}));
    RETURN_IF_ERROR(write_generation(*index, sink_of.generation));
    watched.push_back(monitor.metrics().pull(
        [&](Families& out) { collect_resolver(out, watch.status(), Clock::unix_ms()); }));
    shown.cluster = [&] { return cluster_part(watch.status(), Clock::unix_ms()); };
  }
  sink_of.waiting = [&] { monitor.stop(); };
  sink_of.commit =
      how.step_by_step ? kafka::CommitThread::Where::in_turn : kafka::CommitThread::Where::beside;
  kafka::KafkaSink sink(cluster, sink_of, *index->engine, *index->originals, *index->transactor,
                        index->position);
  deciding = &sink;
  SnapshotJournal journal(*index, sink);
  watched.push_back(monitor.watch(*index->transactor));
  Forgetting forgetting(*kept, index->state->bodies(),
                        how.step_by_step ? Forgetting::Search::in_turn : Forgetting::Search::beside);
  ForgetRequests requests(o.state_directory, forgetting);
  shown.forgetting = &forgetting;
  shown.snapshots = [&] { return index->state->checkpoint_stats(); };
  shown.checkpoint = [&] { return index->state->checkpoint(); };
  Web web(server.get(), shown);
  say_ready(monitor, *index, *source);
  const auto requested = [&](Work& work) {
    standby.keep();
    requests.look();
    return forgetting.fill(work) || sink.has_more_to_do();
  };
  const auto settled = [&] {
    forgetting.settled();
    requests.answer();
  };
  absl::Status ran = run(o, monitor, *index, *source, fetching.get(), answers.get(), sink, &journal,
                         requested, settled, web);
  if (!ran.ok()) {
    how.ending(ran);  // clients of a broker that is away may take their time to go
    // What a person must change stops a start. A daemon that ran may be started again.
    if (absl::IsInvalidArgument(ran) || absl::IsNotFound(ran)) return absl::InternalError(ran.message());
    return ran;
  }
  return index->state->checkpoint();
}

}  // namespace doppel
