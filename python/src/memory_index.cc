#include "memory_index.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "config/config.h"
#include "fmt/format.h"
#include "record_signing.h"
#include "serve/setup.h"
#include "stream/executor.h"
#include "stream/kafka/kafka_position.h"
#include "stream/metadata.h"
#include "stream/sign_record.h"

namespace doppel::python {
namespace {

constexpr size_t kGrain = 16;  // documents that a thread takes at a time

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryIndex>> MemoryIndex::open(const IndexSettings& settings) {
  std::unique_ptr<MemoryIndex> index(new MemoryIndex);
  ConfigInputs inputs{.file = settings.config_file, .sets = settings.sets};
  if (settings.repeated_ids == RepeatedIds::replace) inputs.sets.emplace_back("on_update", "replace");
  ASSIGN_OR_RETURN(Config config, load_config(inputs));
  index->options_ = std::move(config.options);
  index->repeated_ids_ = settings.repeated_ids;
  const Options& o = index->options_;

  HashKey key;
  if (settings.hash_key.empty()) {
    std::string note;
    ASSIGN_OR_RETURN(key, choose_hash_key(o, note));
  } else {
    ASSIGN_OR_RETURN(key, parse_hash_key(settings.hash_key));
  }
  ASSIGN_OR_RETURN(EngineOptions engine, engine_options(o, key));
  engine.track_ids = true;
  if (o.state_directory.empty()) {
    ASSIGN_OR_RETURN(index->temporary_, temporary_bodies(o.temporary_directory));
    index->engine_ = std::make_unique<Engine>(engine, *index->temporary_);
  } else {
    RETURN_IF_ERROR(index->open_state(engine));
  }
  return index;
}

absl::Status MemoryIndex::open_state(EngineOptions& engine) {
  // The outputs of a run of doppel scan are left alone, so any commit will do.
  ASSIGN_OR_RETURN(state_, open_embedded_state(options_, engine, {}, {}));
  const Recovered& recovered = state_->recovered();
  if (kafka::is_kafka_position(recovered.source_position)) {
    return absl::FailedPreconditionError(
        fmt::format("{}: the snapshot of an index on Kafka, which follows its log and nothing else; copy it "
                    "with doppel rebuild --from log, or use another directory",
                    options_.state_directory));
  }
  engine.initial_capacity = std::max<uint64_t>(1024, recovered.next_seq - recovered.first_row);
  engine_ = std::make_unique<Engine>(engine, state_->bodies());
  if (!recovered.fresh) RETURN_IF_ERROR(restore_engine(*state_, *engine_, thread_count(options_)));
  journal_ = std::make_unique<StateJournal>(*state_, *engine_);
  notes_ = recovered.notes;
  documents_ = recovered.documents;
  sink_position_ = recovered.sink_position;
  untagged_end_ = recovered.next_seq;
  return absl::OkStatus();
}

int MemoryIndex::threads_for(size_t documents) const {
  const size_t most = std::max<size_t>(1, documents / kGrain);
  return static_cast<int>(std::min<size_t>(most, static_cast<size_t>(thread_count(options_))));
}

Pipeline MemoryIndex::pipeline(Source& source, Sink& sink) const {
  return {.source = source,
          .engine = *engine_,
          .sink = sink,
          .journal = journal_.get(),
          .format = options_.input,
          .keys = {.tombstones = true, .replace = repeated_ids_ == RepeatedIds::replace}};
}

Pipeline MemoryIndex::texts_pipeline(const Documents& documents, Source& source, Sink& sink) const {
  Pipeline out = pipeline(source, sink);
  out.decoder = [&] { return std::make_unique<DocumentsDecoder>(documents); };
  return out;
}

absl::Status MemoryIndex::run(Pipeline pipeline, size_t documents, const GoOn& go_on,
                              const std::vector<Seq>& forget) {
  const uint64_t before = documents_;
  bool forgotten = forget.empty();
  bool stopped = false;
  pipeline.threads = threads_for(documents);
  pipeline.stop = [&] { return stopped || (stopped = !go_on(documents_ - before)); };
  pipeline.requests = [&](Work& work) {
    if (forgotten) return false;
    work.forget = forget;
    return forgotten = true;
  };
  pipeline.progress = [&](const Counters& counters) { documents_ = before + counters.records; };
  return run_pipeline(pipeline).status();
}

absl::Status MemoryIndex::add(const std::vector<std::string_view>& texts,
                              const std::vector<std::string_view>& ids, const std::vector<int64_t>& times_ms,
                              const GoOn& go_on, Verdicts& out) {
  if (!ids.empty() && ids.size() != texts.size())
    return invalid(fmt::format("ids: {} for {} texts", ids.size(), texts.size()));
  if (!times_ms.empty() && times_ms.size() != texts.size())
    return invalid(fmt::format("dates: {} for {} texts", times_ms.size(), texts.size()));
  if (repeated_ids_ == RepeatedIds::refuse && !ids.empty()) RETURN_IF_ERROR(check_ids(ids));
  const Documents documents{texts, ids, times_ms, documents_};
  DocumentsSource source(documents);
  ColumnsSink sink(sink_position_, out);
  return run(texts_pipeline(documents, source, sink), texts.size(), go_on);
}

absl::Status MemoryIndex::add_signed(const std::vector<std::string_view>& records, const GoOn& go_on,
                                     Verdicts& out) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, ids_of_records(engine_->options(), records));
  if (repeated_ids_ == RepeatedIds::refuse) RETURN_IF_ERROR(check_ids({ids.begin(), ids.end()}));
  const Documents documents{.texts = records, .first_number = documents_};
  DocumentsSource source(documents);
  ColumnsSink sink(sink_position_, out);
  Pipeline signed_records = pipeline(source, sink);
  signed_records.format.format = kSignedFormat;
  return run(std::move(signed_records), records.size(), go_on);
}

absl::Status MemoryIndex::check_ids(const std::vector<std::string_view>& ids) {
  constexpr const char* kRight =
      "remove() it first, or open the index with repeated_ids=\"allow\" or \"replace\"";
  RETURN_IF_ERROR(name_untagged());
  absl::flat_hash_map<std::string_view, size_t> rows;
  for (size_t row = 0; row < ids.size(); ++row) {
    const auto [first, fresh] = rows.try_emplace(ids[row], row);
    if (!fresh)
      return invalid(
          fmt::format("ids: \"{}\" is that of rows {} and {}; give each document its own, or open "
                      "the index with repeated_ids=\"allow\" or \"replace\"",
                      ids[row], first->second, row));
    if (!find(ids[row]).empty())
      return invalid(fmt::format("ids: \"{}\" (row {}) is in the index already; {}", ids[row], row, kRight));
  }
  return absl::OkStatus();
}

absl::Status MemoryIndex::query(const std::vector<std::string_view>& texts, const GoOn& go_on,
                                Verdicts& out) {
  const Documents documents{.texts = texts};
  DocumentsSource source(documents);
  Executor executor(threads_for(texts.size()));
  std::vector<RecordSigner> signers;
  const EngineOptions& options = engine_->options();
  for (int i = 0; i < executor.threads(); ++i) {
    signers.emplace_back(options.scheme, options.with_sets(), options_.input, KeyPolicy{},
                         std::make_unique<DocumentsDecoder>(documents));
  }
  const auto num_perm = static_cast<size_t>(engine_->options().scheme.num_perm);
  Batch batch;
  Work work;
  for (uint64_t done = 0; go_on(done); done += batch.records.size()) {
    ASSIGN_OR_RETURN(const bool more, source.next(batch));
    if (!more) break;
    work.resize(batch.records.size(), engine_->options());
    std::mutex mutex;
    absl::Status first_error;
    executor.run(batch.records.size(), kGrain, [&](int worker, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        signers[worker].sign(batch.records[i], work.sign.documents[i],
                             work.sign.slices.data() + i * num_perm);
      }
      MatchCounters counters;
      const absl::Status status = engine_->match(work, begin, end, counters);
      const std::lock_guard lock(mutex);
      if (!status.ok() && first_error.ok()) first_error = status;
    });
    RETURN_IF_ERROR(first_error);
    for (size_t i = 0; i < batch.records.size(); ++i) {
      const Outcome outcome = engine_->decide(work, i);
      Metadata original;
      if (outcome.verdict == Verdict::duplicate) RETURN_IF_ERROR(decode_metadata(outcome.original, original));
      out.add(*batch.records[i].key, outcome, outcome.verdict == Verdict::duplicate ? original.name() : "");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> MemoryIndex::remove(const std::vector<std::string_view>& ids) {
  RETURN_IF_ERROR(name_untagged());
  std::vector<Seq> forget;
  for (std::string_view id : ids) {
    if (const auto found = untagged_.find(absl_sv(id)); found != untagged_.end()) {
      forget.insert(forget.end(), found->second.begin(), found->second.end());
      untagged_.erase(found);
    }
  }
  RemovalsSource source(ids, documents_);
  Verdicts none;
  ColumnsSink sink(sink_position_, none);
  const Documents none_given;
  RETURN_IF_ERROR(run(texts_pipeline(none_given, source, sink), 0, [](uint64_t) { return true; }, forget));
  return sink.removed();
}

absl::StatusOr<bool> MemoryIndex::contains(std::string_view id) {
  RETURN_IF_ERROR(name_untagged());
  return !find(id).empty();
}

std::vector<Seq> MemoryIndex::find(std::string_view id) const {
  std::string key(kSourceName);
  key.push_back('\0');
  key.append(id);
  std::vector<Seq> out = engine_->originals().find_id(engine_->id_tag(key));
  if (const auto found = untagged_.find(absl_sv(id)); found != untagged_.end()) {
    for (const Seq seq : found->second) {
      if (engine_->originals().live(seq)) out.push_back(seq);
    }
  }
  return out;
}

absl::Status MemoryIndex::name_untagged() {
  if (untagged_named_) return absl::OkStatus();
  const Originals& index = engine_->originals();
  std::string buffer;
  for (Seq seq = index.lowest_live(); seq < untagged_end_; ++seq) {
    if (!index.live(seq) || index.row(seq).id_tag != 0) continue;
    ASSIGN_OR_RETURN(const Body body, state_->bodies().read(index.row(seq).body, buffer));
    Metadata metadata;
    RETURN_IF_ERROR(decode_metadata(body.metadata, metadata));
    untagged_[metadata.name()].push_back(seq);
  }
  untagged_named_ = true;
  return absl::OkStatus();
}

uint64_t MemoryIndex::size() const { return engine_->originals().stats().live; }

uint64_t MemoryIndex::memory_bytes() const {
  const OriginalsStats stats = engine_->originals().stats();
  return stats.row_bytes + stats.table_bytes;
}

uint64_t MemoryIndex::disk_bytes() const {
  return state_ != nullptr ? state_->bodies().bytes() : temporary_->bytes();
}

absl::Status MemoryIndex::checkpoint() { return state_ != nullptr ? state_->checkpoint() : absl::OkStatus(); }

}  // namespace doppel::python
