#include "memory_index.h"

#include <algorithm>
#include <atomic>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "config/config.h"
#include "fmt/format.h"
#include "open/setup.h"
#include "record_signing.h"
#include "records/metadata.h"

namespace doppel::python {
namespace {

constexpr size_t kGrain = 16;  // documents that a thread takes at a time

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryIndex>> MemoryIndex::open(const IndexSettings& settings) {
  std::unique_ptr<MemoryIndex> index(new MemoryIndex);
  ConfigInputs inputs{.file = settings.config_file, .sets = settings.sets};
  if (settings.repeated_ids == RepeatedIds::replace) inputs.sets.emplace_back("on_update", "replace");
  ASSIGN_OR_RETURN(Config config, load_config_of_index(inputs));
  index->options_ = std::move(config.options);
  for (Setting& setting : config.settings)
    index->settings_.emplace_back(std::move(setting.key), std::move(setting.value));
  const Options& o = index->options_;
  index->repeated_ids_ = settings.repeated_ids != RepeatedIds::stored ? settings.repeated_ids
                         : o.on_update == OnUpdate::replace           ? RepeatedIds::replace
                                                                      : RepeatedIds::refuse;

  HashKey key;
  if (settings.hash_key.empty()) {
    std::string note;
    ASSIGN_OR_RETURN(key, choose_hash_key(o, note));
  } else {
    ASSIGN_OR_RETURN(key, parse_hash_key(settings.hash_key));
  }
  ASSIGN_OR_RETURN(EngineOptions engine, engine_options(o, key));
  engine.track_ids = true;
  // This keeps the outputs of `doppel scan` as they are, so any commit is fine.
  ASSIGN_OR_RETURN(index->session_, open_session(session_options(o, engine)));
  index->engine_ = &index->session_->engine();
  index->journal_ = std::make_unique<SessionJournal>(*index->session_);
  const Recovered& recovered = index->session_->recovered();
  index->sink_position_ = recovered.sink_position;
  index->source_position_ = recovered.source_position;
  if (index->session_->state() == nullptr) return index;
  ASSIGN_OR_RETURN(index->handed_, HandedRows::open(o.state_directory, o.fsync == Fsync::commit));
  return index;
}

int MemoryIndex::threads_for(size_t documents) const {
  const size_t most = std::max<size_t>(1, documents / kGrain);
  return static_cast<int>(std::min<size_t>(most, static_cast<size_t>(thread_count(options_))));
}

Pipeline MemoryIndex::pipeline(Source& source, Sink& sink) const {
  Pipeline out = assemble(options_, *engine_, session_->state(), source, sink);
  out.journal = journal_.get();
  out.keys = {.tombstones = true, .replace = repeated_ids_ == RepeatedIds::replace, .source = kSourceName};
  out.better.reset();
  return out;
}

Pipeline MemoryIndex::texts_pipeline(const Documents& documents, Source& source, Sink& sink) const {
  Pipeline out = pipeline(source, sink);
  out.decoder = [&] { return std::make_unique<DocumentsDecoder>(documents); };
  return out;
}

absl::Status MemoryIndex::run(Pipeline pipeline, size_t documents, const GoOn& go_on,
                              const std::vector<Seq>& forget) {
  const uint64_t before = session_->documents();
  bool forgotten = forget.empty();
  bool stopped = false;
  pipeline.threads = threads_for(documents);
  pipeline.stop = [&] { return stopped || (stopped = !go_on(session_->documents() - before)); };
  pipeline.requests = [&](Work& work) {
    if (forgotten) return false;
    work.forget = forget;
    return forgotten = true;
  };
  return run_pipeline(pipeline).status();
}

absl::Status MemoryIndex::judge(const Documents& documents, SameDocuments& same_documents, ColumnsSink& sink,
                                const GoOn& go_on) {
  DocumentsSource source(documents);
  Pipeline pipeline = texts_pipeline(documents, source, sink);
  pipeline.same_documents = &same_documents;
  return run(std::move(pipeline), documents.texts.size(), go_on);
}

absl::Status MemoryIndex::add(const Given& given, const GoOn& go_on, Verdicts& out) {
  const Documents documents{.texts = given.texts,
                            .ids = given.ids,
                            .times_ms = given.times_ms,
                            .first_number = session_->documents()};
  SameDocuments same_documents(engine_->originals().next_seq(), first_own());
  RETURN_IF_ERROR(check(given, documents, engine_->originals().next_seq()));
  ColumnsSink sink(sink_position_, *engine_, out);
  return judge(documents, same_documents, sink, go_on);
}

absl::Status MemoryIndex::add_table(const Given& given, const GoOn& go_on, Verdicts& out) {
  if (!given.ids.empty()) return add(given, go_on, out);
  Digester::Stream content{Digester(hash_key())};
  for (const std::string_view text : given.texts) {
    const uint64_t size = text.size();
    content.update({reinterpret_cast<const char*>(&size), sizeof size});
    content.update(text);
  }
  const Digest digest = content.finish();
  const std::string table = fmt::format("table:{:016x}{:016x}", digest.high, digest.low);
  const Documents documents{.texts = given.texts, .times_ms = given.times_ms, .source = table};
  SameDocuments same_documents(engine_->originals().next_seq(), first_own());
  RETURN_IF_ERROR(check(given, documents, engine_->originals().next_seq()));
  ColumnsSink sink(sink_position_, *engine_, out);
  return judge(documents, same_documents, sink, go_on);
}

absl::Status MemoryIndex::check(const Given& given, const Documents& documents, Seq first) {
  const auto& [texts, ids, times_ms] = given;
  if (!ids.empty() && ids.size() != texts.size())
    return invalid(fmt::format("ids: {} for {} texts", ids.size(), texts.size()));
  if (!times_ms.empty() && times_ms.size() != texts.size())
    return invalid(fmt::format("dates: {} for {} texts", times_ms.size(), texts.size()));
  if (repeated_ids_ != RepeatedIds::refuse || ids.empty()) return absl::OkStatus();
  const Digester digester(hash_key());
  std::string encoded;
  return check_ids(ids, [&](size_t row, Seq original) -> absl::StatusOr<bool> {
    if (original >= first) return false;
    Metadata metadata{
        .source = documents.source, .offset = documents.first_number + row, .key = documents.ids[row]};
    if (!times_ms.empty() && times_ms[row] != kNoTime) metadata.date_ms = times_ms[row];
    encode_metadata(metadata, encoded);
    return is_original(original, digester.digest(texts[row]), encoded);
  });
}

absl::StatusOr<bool> MemoryIndex::is_original(Seq seq, const Digest& digest, std::string_view metadata) {
  std::string page;
  ASSIGN_OR_RETURN(const Row row, engine_->originals().row(seq, page));
  if (row.digest != digest) return false;
  std::string buffer;
  ASSIGN_OR_RETURN(const Body body, session_->bodies().read(row.body, buffer));
  return is_same_document(body.metadata, metadata);
}

absl::Status MemoryIndex::add_signed(const std::vector<std::string_view>& records, const GoOn& go_on,
                                     Verdicts& out) {
  ASSIGN_OR_RETURN(const std::vector<SignedName> names, names_of_records(engine_->options(), records));
  const Seq first = engine_->originals().next_seq();
  if (repeated_ids_ == RepeatedIds::refuse) {
    std::vector<std::string_view> ids;
    for (const SignedName& name : names) ids.push_back(name.id);
    RETURN_IF_ERROR(check_ids(ids, [&](size_t row, Seq original) -> absl::StatusOr<bool> {
      if (original >= first) return false;
      return is_original(original, names[row].digest, names[row].metadata);
    }));
  }
  const Documents documents{.texts = records, .first_number = session_->documents()};
  DocumentsSource source(documents);
  ColumnsSink sink(sink_position_, *engine_, out);
  SameDocuments same_documents(first, first_own());
  Pipeline signed_records = pipeline(source, sink);
  signed_records.format.format = kSignedFormat;
  signed_records.same_documents = &same_documents;
  return run(std::move(signed_records), records.size(), go_on);
}

absl::Status MemoryIndex::check_ids(const std::vector<std::string_view>& ids, const IsSame& is_same) {
  constexpr const char* kRight =
      "remove() it first, or open the index with repeated_ids=\"allow\" or \"replace\"";
  absl::flat_hash_map<std::string_view, size_t> rows;
  for (size_t row = 0; row < ids.size(); ++row) {
    const auto [first, fresh] = rows.try_emplace(ids[row], row);
    if (!fresh)
      return invalid(
          fmt::format("ids: \"{}\" is that of rows {} and {}; give each document its own, or open "
                      "the index with repeated_ids=\"allow\" or \"replace\"",
                      ids[row], first->second, row));
    ASSIGN_OR_RETURN(const std::vector<Seq> found, session_->find(ids[row]));
    bool same = found.empty();
    for (size_t i = 0; !same && i < found.size(); ++i) {
      ASSIGN_OR_RETURN(same, is_same(row, found[i]));
    }
    if (!same)
      return invalid(fmt::format("ids: \"{}\" (row {}) is in the index already, with another text; {}",
                                 ids[row], row, kRight));
  }
  return absl::OkStatus();
}

absl::Status MemoryIndex::each_signed(
    const std::vector<std::string_view>& texts, const GoOn& go_on,
    const std::function<absl::Status(Stages&, Work&, const Batch&, RecordSigner&)>& ask) const {
  const Documents documents{.texts = texts};
  DocumentsSource source(documents);
  Stages stages(*engine_, threads_for(texts.size()));
  std::vector<RecordSigner> signers;
  const EngineOptions& options = engine_->options();
  for (int i = 0; i < stages.threads(); ++i) {
    signers.emplace_back(options.scheme, options.with_sets(), options_.input, KeyPolicy{},
                         std::make_unique<DocumentsDecoder>(documents));
  }
  Batch batch;
  Work work;
  for (uint64_t done = 0; go_on(done); done += batch.records.size()) {
    ASSIGN_OR_RETURN(const bool more, source.next(batch));
    if (!more) break;
    stages.sign(work, batch.records.size(), [&](int worker, size_t i, SignedDocument& out, uint8_t* slices) {
      signers[static_cast<size_t>(worker)].sign(batch.records[i], out, slices);
    });
    RETURN_IF_ERROR(ask(stages, work, batch, signers.front()));
  }
  return absl::OkStatus();
}

absl::Status MemoryIndex::query(const std::vector<std::string_view>& texts, const GoOn& go_on,
                                Verdicts& out) {
  out.with_relations = engine_->options().rule.relations.on();
  std::vector<Outcome> outcomes;
  return each_signed(
      texts, go_on,
      [&](Stages& stages, Work& work, const Batch& batch, RecordSigner& signer) -> absl::Status {
        outcomes.resize(batch.records.size());
        RETURN_IF_ERROR(stages.query(work, outcomes));
        for (size_t i = 0; i < batch.records.size(); ++i) {
          Outcome& outcome = outcomes[i];
          Metadata original;
          if (outcome.verdict == Verdict::duplicate)
            RETURN_IF_ERROR(decode_metadata(outcome.original, original));
          if (!outcome.related.empty()) signer.find_bytes(batch.records[i], outcome);
          RETURN_IF_ERROR(out.add(*batch.records[i].key, outcome,
                                  outcome.verdict == Verdict::duplicate ? original.name() : ""));
        }
        return absl::OkStatus();
      });
}

absl::Status MemoryIndex::nearest(const std::vector<std::string_view>& texts, size_t most, const GoOn& go_on,
                                  std::vector<std::vector<Near>>& out) {
  std::vector<std::vector<Verified>> found;
  return each_signed(texts, go_on,
                     [&](Stages& stages, Work& work, const Batch& batch, RecordSigner&) -> absl::Status {
                       found.resize(batch.records.size());
                       RETURN_IF_ERROR(stages.nearest(work, most, found));
                       for (const std::vector<Verified>& originals : found) {
                         std::vector<Near>& of_one = out.emplace_back();
                         for (const Verified& original : originals) {
                           ASSIGN_OR_RETURN(std::string id, session_->name(original.seq));
                           of_one.push_back({std::move(id), static_cast<double>(original.overlap.inter) /
                                                                static_cast<double>(original.overlap.uni)});
                         }
                       }
                       return absl::OkStatus();
                     });
}

absl::StatusOr<uint64_t> MemoryIndex::remove(const std::vector<std::string_view>& ids) {
  std::vector<Seq> forget;
  for (std::string_view id : ids) {
    ASSIGN_OR_RETURN(const std::vector<Seq> found, session_->find(id));
    forget.insert(forget.end(), found.begin(), found.end());
  }
  RemovalsSource source(ids, session_->documents());
  Verdicts none;
  ColumnsSink sink(sink_position_, *engine_, none);
  const Documents none_given;
  RETURN_IF_ERROR(run(texts_pipeline(none_given, source, sink), 0, [](uint64_t) { return true; }, forget));
  return sink.removed();
}

absl::StatusOr<bool> MemoryIndex::contains(std::string_view id) {
  ASSIGN_OR_RETURN(const std::vector<Seq> found, session_->find(id));
  return !found.empty();
}

uint64_t MemoryIndex::size() const { return session_->own(); }

uint64_t MemoryIndex::memory_bytes() const { return engine_->originals().stats().memory_bytes(); }

uint64_t MemoryIndex::disk_bytes() const { return session_->own_bodies().bytes(); }

absl::Status MemoryIndex::checkpoint() {
  return session_->state() != nullptr ? session_->state()->checkpoint() : absl::OkStatus();
}

}  // namespace doppel::python
