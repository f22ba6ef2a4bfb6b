#include "roles/rebuild.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "daemon/daemon_parts.h"
#include "daemon/report.h"
#include "fetch/configured.h"
#include "kafka/log/from_state.h"
#include "kafka/log/kafka_run.h"
#include "kafka/log_reader.h"
#include "kafka/merge_source.h"
#include "open/assemble.h"
#include "open/setup.h"
#include "pipeline/pipeline.h"
#include "state/file.h"

namespace doppel {
namespace {

// Logs progress, rate and remaining time every two seconds.
class RebuildLog {
 public:
  RebuildLog(std::string what, uint64_t total, uint64_t already)
      : what_(std::move(what)), total_(total), begin_(already) {}

  void operator()(uint64_t done) {
    const Clock::time_point now = Clock::now();
    if (now - said_ < std::chrono::seconds(2)) return;
    said_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done - begin_) / std::max(seconds, 1e-3);
    log::info(what_, {{"done", done},
                      {"of", total_},
                      {"per_second", static_cast<uint64_t>(rate)},
                      {"seconds_left",
                       rate > 0 ? static_cast<double>(total_ - std::min(done, total_)) / rate : 0.0}});
  }

 private:
  std::string what_;
  uint64_t total_, begin_;
  Clock::time_point start_ = Clock::now(), said_ = start_;
};

absl::StatusOr<HashKey> key_of(const Options& o) {
  std::string note;
  ASSIGN_OR_RETURN(const HashKey key, choose_hash_key(o, note));
  if (!note.empty()) log::warn(note);
  return key;
}

// Options that wait for the brokers until `stop`.
PlanOptions patient(const Options& o, const RebuildOptions& r) {
  PlanOptions how{.stop = r.stop};
  if (r.real) how.reach = real_cluster(o, how).reach;
  return how;
}

// Rebuilds the state directory. Records are committed while they are read, and a marker file says that a
// rebuild is unfinished, so that it continues after an interruption.
absl::Status from_log(const Config& config, kafka::Cluster& cluster, const RebuildOptions& r) {
  const Options& o = config.options;
  namespace fs = std::filesystem;
  ASSIGN_OR_RETURN(const HashKey key, key_of(o));
  ASSIGN_OR_RETURN(const KafkaPlan plan, plan_kafka(o, cluster, patient(o, r)));
  const fs::path marker = fs::path(o.state_directory) / "rebuilding";
  std::error_code error;
  const bool going_on = fs::exists(marker, error);
  std::unique_ptr<KafkaIndex> index;
  if (!going_on) {
    RETURN_IF_ERROR(make_directories(o.state_directory));  // the whole directory may be lost
    RETURN_IF_ERROR(lock_directory(o.state_directory).status());
    RETURN_IF_ERROR(discard_state(o.state_directory));
    RETURN_IF_ERROR(write_durably(marker, o.kafka.index_log + "\n"));
  }
  ASSIGN_OR_RETURN(
      index, open_kafka_index({.options = o, .plan = plan, .key = key, .read_only = true, .stop = r.stop}));
  RETURN_IF_ERROR(index->state->checkpoint());
  fs::remove(marker, error);
  log::info("rebuilt from the index log", {{"directory", o.state_directory},
                                           {"originals", index->engine->originals().stats().live},
                                           {"log_offset", index->position.log_offset}});
  return absl::OkStatus();
}

// Reads from another index's log which documents that index could not read. The result returns the reason for
// a record, or an empty text.
absl::StatusOr<std::function<std::string(const Record&)>> missing_of(const KafkaPlan& plan,
                                                                     const std::string& index_log) {
  ASSIGN_OR_RETURN(kafka::LogReader log, kafka::LogReader::open(*plan.kafka, {index_log, 0}));
  ASSIGN_OR_RETURN(const kafka::Watermarks bounds, log.bounds());
  auto reasons = std::make_shared<std::map<std::tuple<std::string, int32_t, int64_t>, std::string>>();
  RETURN_IF_ERROR(log.read(bounds.low, bounds.high, [&](const kafka::LogMessage& m) -> absl::Status {
    ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
    if (auto* missing = std::get_if<LogMissing>(&record))
      (*reasons)[{missing->topic, missing->partition, missing->offset}] = std::move(missing->reason);
    return absl::OkStatus();
  }));
  return [reasons](const Record& record) {
    const auto at =
        reasons->find({std::string(record.source), record.partition, static_cast<int64_t>(record.offset)});
    return at == reasons->end() ? std::string() : at->second;
  };
}

// Makes a new index log and a new state directory from the topics, up to their present ends.
absl::Status from_documents(const Config& config, kafka::Cluster& cluster, const RebuildOptions& given) {
  const Options& o = config.options;
  ASSIGN_OR_RETURN(const std::unique_ptr<DaemonParts> daemon,
                   DaemonParts::begin(config, o, {.kafka = true, .replay = true, .stop = given.stop}));
  Monitor& monitor = daemon->monitor;
  RebuildOptions r = given;
  r.stop = daemon->stopper();
  ASSIGN_OR_RETURN(const KafkaPlan plan, plan_kafka(o, cluster, patient(o, r)));
  ASSIGN_OR_RETURN(std::vector<kafka::Bounds> bounds,
                   kafka::freeze_bounds(cluster, plan.inputs, r.since_offset, r.since_ms));
  ASSIGN_OR_RETURN(const std::unique_ptr<KafkaIndex> index,
                   open_kafka_index({.options = o,
                                     .plan = plan,
                                     .key = daemon->key,
                                     .rebuilt_from = kafka::encode_bounds(bounds),
                                     .stop = r.stop,
                                     .restoring = monitor.progress_reports()}));
  // An interrupted rebuild continues with the bounds that it froze at its start.
  ASSIGN_OR_RETURN(bounds, kafka::decode_bounds(index->epoch.rebuilt_from));

  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::MergeSource> source,
                   kafka::MergeSource::open(cluster,
                                            {.batch_records = static_cast<size_t>(o.kafka.batch_documents),
                                             .batch_bytes = o.batch_bytes,
                                             .stop = r.stop},
                                            bounds, index->position.progress_list()));
  FetchOptions fetch = fetch_options(o, r.stop);
  if (!r.missing_as_in.empty()) {
    ASSIGN_OR_RETURN(fetch.known_missing, missing_of(plan, r.missing_as_in));
  }
  const std::unique_ptr<SchemaSource> schemas = schemas_from(*source, o);
  Source& input = outer_of(*source, schemas.get());
  ASSIGN_OR_RETURN(const std::unique_ptr<FetchSource> fetching, fetch_from(input, fetch, *index->engine));
  kafka::KafkaSinkOptions sink_of = sink_options(o, plan, *index);
  sink_of.events_off = !r.publish;
  sink_of.waiting = [&] { monitor.stop(); };
  sink_of.missing_stops = r.missing_stops;
  kafka::KafkaSink sink(cluster, sink_of, *index->engine, *index->originals, *index->transactor,
                        index->position);
  SnapshotJournal journal(*index, sink);
  std::vector<std::shared_ptr<void>> watched{monitor.watch(*index->transactor)};
  if (schemas != nullptr) watched.push_back(monitor.watch(schemas->stats()));
  if (fetching != nullptr) watched.push_back(monitor.watch(*fetching));
  monitor.progress(*index->engine, *index->state);
  monitor.ready(*index->engine);
  RebuildLog rebuild_log("rebuilding from documents", source->bytes_total(), source->bytes_read());
  log::info("rebuilding from documents", {{"records", source->bytes_total()},
                                          {"already_done", source->bytes_read()},
                                          {"index_log", index->index_log},
                                          {"events", r.publish}});
  Pipeline pipeline = assemble(o, *index->engine, index->state.get(), outer_of(input, fetching.get()), sink);
  pipeline.journal = &journal;
  pipeline.keys = key_policy(o);
  pipeline.stop = r.stop;
  pipeline.requests = [&](Work&) { return sink.has_more_to_do(); };
  pipeline.read_now = late_reader(fetching.get());
  pipeline.observe = monitor.observer();
  pipeline.progress = [&](const Counters&) {
    monitor.progress(*index->engine, *index->state);
    rebuild_log(source->bytes_read());
  };
  const absl::StatusOr<Counters> counters = run_pipeline(pipeline);
  if (fetching != nullptr) report_fetches(fetching->counts());
  if (absl::IsFailedPrecondition(counters.status()) && r.missing_stops && fetching != nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("{}\nThe same command continues here once the document can be read. With --on-missing "
                    "skip it continues without it",
                    std_sv(counters.status().message())));
  }
  RETURN_IF_ERROR(counters.status());
  RETURN_IF_ERROR(index->state->checkpoint());
  if (r.stop()) return absl::CancelledError("interrupted; the same command continues");

  index->position = sink.where();
  std::vector<LogProgress> progress;
  for (const kafka::Bounds& b : bounds) {
    LogProgress p = index->position.progress[{b.topic, b.partition}];
    if (p.next < b.end) p.last_ms = -1;  // the last entry before the end is not a record, but a marker
    p.topic = b.topic;
    p.partition = b.partition;
    p.next = b.end;
    progress.push_back(p);
  }
  RETURN_IF_ERROR(complete_rebuild(*index, progress));
  log::info("rebuilt from documents", {{"documents", counters->records},
                                       {"unique", counters->unique},
                                       {"duplicates", counters->duplicates()},
                                       {"rejected", counters->rejected},
                                       {"missing", sink.missing()},
                                       {"index_log", index->index_log},
                                       {"directory", o.state_directory}});
  return absl::OkStatus();
}

}  // namespace

absl::Status rebuild(const Config& config, kafka::Cluster& cluster, const RebuildOptions& options) {
  if (config.options.state_directory.empty()) return invalid("state.directory: name the directory to create");
  if (!config.options.against.empty()) return invalid("against: not with rebuild");
  switch (options.from) {
    case RebuildOptions::From::log:
      return from_log(config, cluster, options);
    case RebuildOptions::From::documents:
      return from_documents(config, cluster, options);
    case RebuildOptions::From::state:
      break;
  }
  return log_from_state(config, cluster, options.offsets, patient(config.options, options));
}

}  // namespace doppel
