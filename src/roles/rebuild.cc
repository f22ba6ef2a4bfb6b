#include "roles/roles.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "daemon/daemon.h"
#include "daemon/report.h"
#include "fetch/fetch_source.h"
#include "kafka/log/kafka_index.h"
#include "kafka/log_reader.h"
#include "kafka/merge_source.h"
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
    if (now - logged_ < std::chrono::seconds(2)) return;
    logged_ = now;
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
  Clock::time_point start_ = Clock::now(), logged_ = start_;
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
// A rebuild from documents. from_documents() names the steps in order.
class FromDocuments {
 public:
  FromDocuments(const Config& config, kafka::Cluster& cluster, const RebuildOptions& given,
                DaemonParts& daemon)
      : o_(config.options), cluster_(cluster), r_(given), daemon_(daemon) {
    r_.stop = daemon.stopper();
  }

  absl::Status open_index();
  absl::Status open_input();
  void open_output();
  absl::Status judge();
  absl::Status complete();

 private:
  Source& input() { return outer_of(*source_, schemas_.get()); }

  const Options& o_;
  kafka::Cluster& cluster_;
  RebuildOptions r_;
  DaemonParts& daemon_;
  KafkaPlan plan_;
  std::vector<kafka::Bounds> bounds_;
  std::unique_ptr<KafkaIndex> index_;
  std::unique_ptr<kafka::MergeSource> source_;
  std::unique_ptr<SchemaSource> schemas_;
  std::unique_ptr<FetchSource> fetching_;
  std::unique_ptr<kafka::KafkaSink> sink_;
  Counters counters_;
};

absl::Status FromDocuments::open_index() {
  ASSIGN_OR_RETURN(plan_, plan_kafka(o_, cluster_, patient(o_, r_)));
  ASSIGN_OR_RETURN(bounds_, kafka::freeze_bounds(cluster_, plan_.inputs, r_.since_offset, r_.since_ms));
  ASSIGN_OR_RETURN(index_, open_kafka_index({.options = o_,
                                             .plan = plan_,
                                             .key = daemon_.key,
                                             .rebuilt_from = kafka::encode_bounds(bounds_),
                                             .stop = r_.stop,
                                             .restoring = daemon_.monitor.progress_reports()}));
  // An interrupted rebuild continues with the bounds that it froze at its start.
  ASSIGN_OR_RETURN(bounds_, kafka::decode_bounds(index_->epoch.rebuilt_from));
  return absl::OkStatus();
}

absl::Status FromDocuments::open_input() {
  ASSIGN_OR_RETURN(source_,
                   kafka::MergeSource::open(cluster_,
                                            {.batch_records = static_cast<size_t>(o_.kafka.batch_documents),
                                             .batch_bytes = o_.batch_bytes,
                                             .stop = r_.stop},
                                            bounds_, index_->position.progress_list()));
  FetchOptions fetch = fetch_options(o_, r_.stop);
  if (!r_.missing_as_in.empty()) {
    ASSIGN_OR_RETURN(fetch.known_missing, missing_of(plan_, r_.missing_as_in));
  }
  schemas_ = schemas_from(*source_, o_);
  ASSIGN_OR_RETURN(fetching_, fetch_from(input(), fetch, *index_->engine));
  return absl::OkStatus();
}

void FromDocuments::open_output() {
  kafka::KafkaSinkOptions options = sink_options(o_, plan_, *index_);
  options.events_off = !r_.publish;
  options.waiting = [this] { daemon_.monitor.stop(); };
  options.missing_stops = r_.missing_stops;
  sink_ = std::make_unique<kafka::KafkaSink>(cluster_, options, *index_->engine, *index_->originals,
                                             *index_->transactor, index_->position);
}

absl::Status FromDocuments::judge() {
  Monitor& monitor = daemon_.monitor;
  SnapshotJournal journal(*index_, *sink_);
  std::vector<std::shared_ptr<void>> watched{monitor.watch(*index_->transactor)};
  if (schemas_ != nullptr) watched.push_back(monitor.watch(schemas_->stats()));
  if (fetching_ != nullptr) watched.push_back(monitor.watch(*fetching_));
  monitor.progress(*index_->engine, *index_->state);
  monitor.ready(*index_->engine);
  RebuildLog rebuild_log("rebuilding from documents", source_->bytes_total(), source_->bytes_read());
  log::info("rebuilding from documents", {{"records", source_->bytes_total()},
                                          {"already_done", source_->bytes_read()},
                                          {"index_log", index_->index_log},
                                          {"events", r_.publish}});
  Pipeline pipeline =
      assemble(o_, *index_->engine, index_->state.get(), outer_of(input(), fetching_.get()), *sink_);
  pipeline.journal = &journal;
  pipeline.keys = key_policy(o_);
  pipeline.stop = r_.stop;
  pipeline.requests = [&](Work&) { return sink_->has_more_to_do(); };
  pipeline.read_now = late_reader(fetching_.get());
  pipeline.observe = monitor.observer();
  pipeline.progress = [&](const Counters&) {
    monitor.progress(*index_->engine, *index_->state);
    rebuild_log(source_->bytes_read());
  };
  absl::StatusOr<Counters> counters = run_pipeline(pipeline);
  if (fetching_ != nullptr) report_fetches(fetching_->counts());
  if (absl::IsFailedPrecondition(counters.status()) && r_.missing_stops && fetching_ != nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("{}\nThe same command continues here once the document can be read. With --on-missing "
                    "skip it continues without it",
                    std_sv(counters.status().message())));
  }
  RETURN_IF_ERROR(counters.status());
  counters_ = *std::move(counters);
  RETURN_IF_ERROR(index_->state->checkpoint());
  return r_.stop() ? absl::CancelledError("interrupted; the same command continues") : absl::OkStatus();
}

// Writes that the input is read up to its bounds, and that the log is whole.
absl::Status FromDocuments::complete() {
  index_->position = sink_->where();
  std::vector<LogProgress> progress;
  for (const kafka::Bounds& b : bounds_) {
    LogProgress p = index_->position.progress[{b.topic, b.partition}];
    if (p.next < b.end) p.last_ms = -1;  // the last entry before the end is not a record, but a marker
    p.topic = b.topic;
    p.partition = b.partition;
    p.next = b.end;
    progress.push_back(p);
  }
  RETURN_IF_ERROR(complete_rebuild(*index_, progress));
  log::info("rebuilt from documents", {{"documents", counters_.records},
                                       {"unique", counters_.unique},
                                       {"duplicates", counters_.duplicates()},
                                       {"rejected", counters_.rejected},
                                       {"missing", sink_->missing()},
                                       {"index_log", index_->index_log},
                                       {"directory", o_.state_directory}});
  return absl::OkStatus();
}

absl::Status from_documents(const Config& config, kafka::Cluster& cluster, const RebuildOptions& given) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<DaemonParts> daemon,
      DaemonParts::begin(config, config.options, {.kafka = true, .replay = true, .stop = given.stop}));
  FromDocuments rebuild(config, cluster, given, *daemon);
  RETURN_IF_ERROR(rebuild.open_index());
  RETURN_IF_ERROR(rebuild.open_input());
  rebuild.open_output();
  RETURN_IF_ERROR(rebuild.judge());
  return rebuild.complete();
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
