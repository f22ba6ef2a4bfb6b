#include "serve/serve_kafka.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "metrics/kafka_metrics.h"
#include "serve/firehose.h"
#include "serve/forget_requests.h"
#include "serve/kafka_run.h"
#include "serve/monitor.h"
#include "serve/report.h"
#include "serve/setup.h"
#include "serve/web.h"
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

kafka::KafkaSourceOptions source_options(const Options& o, const KafkaPlan& plan) {
  return {.client = plan.client,
          .group = o.kafka.group,
          .topics = o.kafka.topics,
          .batch_records = static_cast<size_t>(o.kafka.batch_documents),
          .batch_bytes = o.batch_bytes,
          .linger_ms = static_cast<int>(o.kafka.batch_ms),
          .queue_bytes = o.kafka.fetch_queue,
          .from_latest = o.kafka.start == "latest",
          .continue_after_loss = o.kafka.on_data_loss == "continue",
          .metadata_ms = static_cast<int>(o.kafka.metadata_interval_ms)};
}

// Everything that a run has in common; what differs is where its decisions go.
absl::Status run(const Options& o, Monitor& monitor, KafkaIndex& index, Source& source, FetchSource* fetching,
                 Sink& sink, Journal* journal, std::function<bool(Work&)> wishes,
                 std::function<void()> settled, Web& web) {
  Report report(index.engine->index());
  FirehoseWatch firehose;
  Pipeline pipeline{.source = fetching != nullptr ? static_cast<Source&>(*fetching) : source,
                    .engine = *index.engine,
                    .sink = sink,
                    .journal = journal,
                    .format = o.input,
                    .keys = key_policy(o),
                    .threads = thread_count(o),
                    .stop = [&] { return monitor.stop(); },
                    .wishes =
                        [&](Work& work) {
                          const bool others = wishes(work);
                          return web.wishes(work) || others;
                        },
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
        lag.seconds = static_cast<double>(std::max<int64_t>(0, kafka::now_ms() - settled.last_ms)) / 1e3;
    }
  }
  return out;
}

void say_ready(Monitor& monitor, const KafkaIndex& index, const kafka::KafkaSource& source) {
  monitor.ready(*index.engine);
  log::info("ready", {{"partitions", source.partitions()},
                      {"originals", index.engine->index().stats().live},
                      {"epoch", epoch_string(index.epoch.epoch)}});
  notify::ready();
}

}  // namespace

absl::Status serve_kafka(const Config& config, const std::function<bool()>& stop_wished,
                         const std::function<void(const absl::Status&)>& ending) {
  const Options& o = config.options;
  if (o.state_directory.empty())
    return invalid("state.directory: serve needs a place for its snapshots and its hash key");
  std::string note;
  ASSIGN_OR_RETURN(const HashKey key, choose_hash_key(o, note));
  if (!note.empty()) log::warn(note);
  RETURN_IF_ERROR(check_format(o.input));

  ASSIGN_OR_RETURN(const EngineOptions engine, engine_options(o, key));
  Monitor monitor({.options = o, .rule = engine.rule, .kafka = true, .stop = stop_wished});
  const auto stop = [&] { return monitor.stop(); };
  ASSIGN_OR_RETURN(const std::unique_ptr<http::Server> server, open_http(o));
  if (server != nullptr) monitor.answer(*server);
  monitor.restoring({"waiting for Kafka"});
  log::info("starting",
            {{"brokers", o.kafka.brokers}, {"index_log", o.kafka.index_log}, {"dry_run", o.dry_run}});
  ASSIGN_OR_RETURN(const KafkaPlan plan, plan_kafka(o, stop));
  ASSIGN_OR_RETURN(const std::unique_ptr<KafkaIndex> index, open_kafka_index({.options = o,
                                                                              .plan = plan,
                                                                              .key = key,
                                                                              .read_only = o.dry_run,
                                                                              .stop = stop,
                                                                              .restoring = monitor.told()}));

  // The input goes on where the index log says; the offsets of the group are only kept up to date.
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::KafkaSource> source,
                   kafka::KafkaSource::open(source_options(o, plan), index->position.progress_list()));
  ASSIGN_OR_RETURN(const std::unique_ptr<FetchSource> fetching,
                   fetch_from(*source, fetch_options(o, stop), *index->engine));
  std::vector<std::shared_ptr<void>> watched{monitor.watch(*source, index->position.progress_list())};
  if (fetching != nullptr) watched.push_back(monitor.watch(*fetching));
  monitor.progress(*index->engine, *index->state);
  WebParts shown{
      .config = config, .engine = *index->engine, .bodies = index->state->bodies(), .keys = key_policy(o)};
  shown.lags = [&monitor, statistics = source->statistics()] {
    return lags_of(statistics->get(), monitor.metrics().stream().settled());
  };
  if (o.dry_run) {
    Web web(server.get(), shown);
    say_ready(monitor, *index, *source);
    NoSink sink;
    return run(
        o, monitor, *index, *source, fetching.get(), sink, nullptr, [](Work&) { return false; }, [] {}, web);
  }
  index->transactor->send_offsets_of(source->consumer());
  RETURN_IF_ERROR(write_progress(*index, source->beginnings()));
  kafka::KafkaSinkOptions sink_of = sink_options(o, plan, *index);
  sink_of.waiting = [&] { monitor.stop(); };
  kafka::KafkaSink sink(sink_of, *index->engine, *index->originals, *index->transactor, index->position);
  SnapshotJournal journal(*index, sink);
  watched.push_back(monitor.watch(*index->transactor));
  ForgetRequests requests(o.state_directory, *index->engine, index->state->bodies());
  shown.snapshots = [&] { return index->state->checkpoint_stats(); };
  shown.checkpoint = [&] { return index->state->checkpoint(); };
  Web web(server.get(), shown);
  say_ready(monitor, *index, *source);
  const auto wishes = [&](Work& work) { return requests.fill(work) || sink.has_more_to_tell(); };
  absl::Status ran = run(
      o, monitor, *index, *source, fetching.get(), sink, &journal, wishes, [&] { requests.settled(); }, web);
  if (!ran.ok()) {
    ending(ran);  // clients of a broker that is away may take their time to go
    return ran;
  }
  return index->state->checkpoint();
}

}  // namespace doppel
