#include "doppel/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/status.h"
#include "embed/names.h"
#include "embed/options.h"
#include "pipeline/executor.h"
#include "pipeline/known_again.h"
#include "records/metadata.h"
#include "state/against.h"
#include "state/kafka_position.h"
#include "state/old_segments.h"
#include "state/scheme.h"
#include "state/state_dir.h"
#include "state/state_view.h"
#include "text/words.h"

namespace doppel {
namespace {

constexpr size_t kBatch = 1024;  // documents that are decided and committed together
constexpr size_t kGrain = 16;    // documents that a thread takes at a time

absl::StatusOr<HashKey> key_of(const std::string& directory, const Index::Options& options) {
  if (options.hash_key) return parse_hash_key(*options.hash_key);
  ASSIGN_OR_RETURN(const std::optional<HashKey> against, Against::hash_key(options.against));
  if (directory.empty()) return against.value_or(kPublicHashKey);
  return hash_key_of(directory, nullptr, against);
}

// The scheme of an index has lines that say how texts were made from records. A program gives texts, so it
// takes the lines of the index, or, for a new one, of the first index that it is compared with.
absl::Status take_lines_of_texts(const Identity& made, const std::vector<std::string>& against,
                                 Scheme& scheme) {
  if (!made.rule.empty()) {
    ASSIGN_OR_RETURN(scheme, scheme_of_index(scheme, made.data_scheme));
  } else if (!against.empty()) {
    absl::StatusOr<Scheme> theirs = scheme_of_index(scheme, stored_identity(against.front()).data_scheme);
    if (theirs.ok()) scheme = *std::move(theirs);  // otherwise, Against::open() says what differs
  }
  return absl::OkStatus();
}

double share(Overlap overlap) {
  return static_cast<double>(overlap.inter) / static_cast<double>(overlap.uni);
}

absl::StatusOr<Judgement> judgement_of(const Outcome& outcome, std::string_view text,
                                       Normalisation normalisation) {
  Judgement out{.verdict = outcome.verdict, .kind = outcome.kind};
  if (outcome.verdict == Verdict::unique && !outcome.related.empty()) {
    const std::vector<WordPlace> places = word_places(text, normalisation);
    for (const Related& each : outcome.related) {
      Metadata original;
      RETURN_IF_ERROR(decode_metadata(each.original, original));
      RelatedOriginal& related =
          out.related.emplace_back(RelatedOriginal{.id = original.name(),
                                                   .relation = each.relation,
                                                   .of_document = share({each.shared, each.of_document}),
                                                   .of_original = share({each.shared, each.of_original})});
      for (const WordRange& words : each.passages)
        related.passages.push_back({places[words.begin].begin, places[words.end - 1].end});
    }
  }
  if (outcome.verdict != Verdict::duplicate) return out;
  out.similarity = share(outcome.similarity);
  Metadata original;
  RETURN_IF_ERROR(decode_metadata(outcome.original, original));
  out.duplicate_of = original.name();
  return out;
}

}  // namespace

struct Index::Impl {
  Impl(const EngineOptions& options, std::unique_ptr<Against> read_only, std::unique_ptr<StateDir> directory,
       SegmentStores old, int threads_asked)
      : against(std::move(read_only)),
        state(std::move(directory)),
        memory(state == nullptr ? memory_bodies() : nullptr),
        segments(std::move(old)),
        bodies(against->bodies(state != nullptr ? state->bodies() : *memory)),
        threads(all_if_zero(threads_asked)),
        engine(options, bodies),
        names(engine, bodies, against->originals() + (state == nullptr ? 0 : state->recovered().next_seq)),
        executor(threads) {
    for (int i = 0; i < threads; ++i) signers.push_back(engine.make_signer());
  }

  absl::Status restore() {
    if (state != nullptr) documents = state->recovered().documents;
    return restore_engine(*against, state.get(), engine, threads);
  }

  void sign(Signer& signer, const Document& document, uint64_t number, Work& of, size_t i) const {
    SignedDocument& out = of.sign.documents[i];
    const std::string by_number = document.id.empty() ? fmt::format("{}", number) : std::string();
    const std::string_view id = document.id.empty() ? by_number : document.id;
    out.action = SignedDocument::Action::judge;
    out.id_tag = names.tag(id);
    out.replace = engine.options().rule.replace;
    out.payload = {};
    out.timestamp_ms = document.timestamp_ms.value_or(kNoTime);
    encode_metadata({.source = kProgramSource, .offset = number, .date_ms = document.timestamp_ms, .key = id},
                    out.metadata);
    signer.sign(document.text, document.scope, out,
                of.sign.slices.data() + i * static_cast<size_t>(engine.options().scheme.num_perm));
  }

  absl::Status check(std::span<const Document> given) const {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].id.size() + 64 > kMaxMetadata)
        return invalid(fmt::format("documents[{}].id has {} bytes, more than {}", i, given[i].id.size(),
                                   kMaxMetadata - 64));
    }
    return absl::OkStatus();
  }

  // SIGN, MATCH, RESOLVE and the commit of one batch. The originals in `removed` are removed before it.
  absl::Status decide(std::span<const Document> batch, std::vector<Seq> removed = {}) {
    work.resize(batch.size(), engine.options());
    work.forget = std::move(removed);
    RETURN_IF_ERROR(executor.try_run(batch.size(), kGrain, [&](int worker, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) sign(signers[worker], batch[i], documents + i, work, i);
      MatchCounters counters;
      return engine.match(work, begin, end, counters);
    }));
    RETURN_IF_ERROR(engine.resolve(
        work, {.threads = threads, .run = [this](int parts, const std::function<void(int)>& part) {
                 executor.run(static_cast<size_t>(parts), 1,
                              [&](int, size_t begin, size_t) { part(static_cast<int>(begin)); });
               }}));
    documents += batch.size();
    if (state == nullptr) return absl::OkStatus();
    const Recovered& recovered = state->recovered();
    Commit commit = own_commit(work.resolved, engine.originals().first_own());
    commit.source_position = recovered.source_position;
    commit.sink_position = recovered.sink_position;
    commit.clock = engine.clock();
    commit.documents = documents;
    return state->commit(commit);
  }

  absl::StatusOr<Judgement> judgement(const Outcome& outcome, const Document& document) const {
    return judgement_of(outcome, document.text, engine.options().scheme.normalisation);
  }

  // Runs one change at a time. After an error, no change is possible any more.
  template <typename Change>
  absl::Status change(const Change& what) {
    const std::lock_guard lock(changing);
    if (!broken.ok()) return broken;
    broken = what();
    return broken;
  }

  const std::unique_ptr<Against> against;
  const std::unique_ptr<StateDir> state;  // nullptr: the index is in memory only
  const std::unique_ptr<Bodies> memory;
  const SegmentStores segments;  // with `memory` in the options
  Bodies& bodies;                // of all originals
  const int threads;
  Engine engine;
  Names names;
  Executor executor;
  std::vector<Signer> signers;
  uint64_t documents = 0;  // number of inserted documents, in all runs

  mutable std::shared_mutex changing;  // queries hold it shared
  Work work;
  absl::Status broken;
};

absl::StatusOr<std::unique_ptr<Index>> Index::open(const std::string& directory, const Options& options) {
  const Identity made = stored_identity(directory);
  if (made.rule.empty() && !directory.empty() && !options.create_if_missing)
    return absl::NotFoundError(directory + " holds no index");
  const std::string stored = made.data_scheme + "\n" + made.rule;
  // Check the options first, so that impossible ones leave no directory behind.
  RETURN_IF_ERROR(embed_options(options, stored, kPublicHashKey).status());
  ASSIGN_OR_RETURN(const HashKey key, key_of(directory, options));
  ASSIGN_OR_RETURN(EngineOptions engine, embed_options(options, stored, key));
  RETURN_IF_ERROR(take_lines_of_texts(made, options.against, engine.scheme));
  ASSIGN_OR_RETURN(std::unique_ptr<Against> against, Against::open(options.against, directory, engine));
  std::unique_ptr<StateDir> state;
  uint64_t expected = against->originals();
  if (!directory.empty()) {
    ASSIGN_OR_RETURN(state, StateDir::open({.directory = directory,
                                            .data_scheme = engine.scheme.describe(),
                                            .rule = describe_rule(engine.rule) + against->describe(),
                                            .num_perm = engine.scheme.num_perm,
                                            .mask_words = engine.rule.banding.mask_words()},
                                           {}));
    const Recovered& recovered = state->recovered();
    if (kafka::is_kafka_position(recovered.source_position)) {
      return absl::FailedPreconditionError(
          directory +
          ": the snapshot of an index on Kafka, which follows its log and nothing else; copy it "
          "with doppel rebuild --from log, or use another directory");
    }
    take_room(engine.rule, recovered.rule);
    expected += recovered.next_seq - recovered.first_row;
  }
  engine.initial_capacity = std::max<uint64_t>(1024, expected);
  ASSIGN_OR_RETURN(SegmentStores segments, open_segments({.memory = static_cast<uint64_t>(options.memory),
                                                          .directory = directory,
                                                          .after_others = !options.against.empty()},
                                                         state.get(), engine));
  std::unique_ptr<Index> out(new Index(std::make_unique<Impl>(engine, std::move(against), std::move(state),
                                                              std::move(segments), options.threads)));
  RETURN_IF_ERROR(out->impl_->restore());
  return out;
}

Index::Index(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Index::~Index() { save().IgnoreError(); }

absl::StatusOr<Judgement> Index::insert(const Document& document) {
  ASSIGN_OR_RETURN(std::vector<Judgement> out, insert(std::span(&document, 1)));
  return std::move(out.front());
}

absl::StatusOr<std::vector<Judgement>> Index::insert(std::span<const Document> documents) {
  RETURN_IF_ERROR(impl_->check(documents));
  std::vector<Judgement> out;
  out.reserve(documents.size());
  absl::Status changed = impl_->change([&]() -> absl::Status {
    for (size_t at = 0; at < documents.size(); at += kBatch) {
      const auto batch = documents.subspan(at, std::min(kBatch, documents.size() - at));
      RETURN_IF_ERROR(impl_->decide(batch));
      for (size_t i = 0; i < batch.size(); ++i) {
        const Outcome& outcome = impl_->work.resolved.outcomes[i];
        const bool again = outcome.verdict == Verdict::duplicate && outcome.kind == Kind::exact &&
                           outcome.seq >= impl_->engine.originals().first_own() &&
                           is_same_document(outcome.original, impl_->work.sign.documents[i].metadata);
        ASSIGN_OR_RETURN(Judgement judgement, impl_->judgement(outcome, batch[i]));
        out.push_back(again ? Judgement{.verdict = Verdict::unique} : std::move(judgement));
      }
    }
    return absl::OkStatus();
  });
  if (!changed.ok()) return changed;
  return out;
}

absl::StatusOr<Judgement> Index::query(const Document& document) const {
  ASSIGN_OR_RETURN(std::vector<Judgement> out, query(std::span(&document, 1)));
  return std::move(out.front());
}

absl::StatusOr<std::vector<Judgement>> Index::query(std::span<const Document> documents) const {
  RETURN_IF_ERROR(impl_->check(documents));
  const Engine& engine = impl_->engine;
  const size_t helpers = std::max<size_t>(1, documents.size() / kGrain);
  Executor executor(static_cast<int>(std::min<size_t>(helpers, static_cast<size_t>(impl_->threads))));
  std::vector<Signer> signers;
  signers.reserve(static_cast<size_t>(executor.threads()));
  for (int i = 0; i < executor.threads(); ++i) signers.push_back(engine.make_signer());
  std::vector<Judgement> out;
  out.reserve(documents.size());
  Work work;
  std::vector<Outcome> outcomes;
  for (size_t at = 0; at < documents.size(); at += kBatch) {
    const auto batch = documents.subspan(at, std::min(kBatch, documents.size() - at));
    work.resize(batch.size(), engine.options());
    outcomes.assign(batch.size(), {});
    const std::shared_lock looking(impl_->changing);
    RETURN_IF_ERROR(executor.try_run(batch.size(), kGrain, [&](int worker, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) impl_->sign(signers[worker], batch[i], 0, work, i);
      return engine.query(work, begin, end, outcomes);
    }));
    for (size_t i = 0; i < batch.size(); ++i) {
      ASSIGN_OR_RETURN(out.emplace_back(), impl_->judgement(outcomes[i], batch[i]));
    }
  }
  return out;
}

absl::StatusOr<bool> Index::remove(std::string_view id) {
  bool any = false;
  absl::Status changed = impl_->change([&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<Seq> found, impl_->names.find(id));
    any = !found.empty();
    return any ? impl_->decide({}, std::move(found)) : absl::OkStatus();
  });
  if (!changed.ok()) return changed;
  return any;
}

absl::Status Index::save() {
  return impl_->change(
      [&] { return impl_->state != nullptr ? impl_->state->checkpoint() : absl::OkStatus(); });
}

absl::Status Index::for_each(const std::function<bool(const Original&)>& visit) const {
  const std::shared_lock looking(impl_->changing);
  const Originals& originals = impl_->engine.originals();
  std::string buffer;
  const Seq first = originals.first_own();
  for (Seq seq = std::max(originals.lowest_live(), first); seq < originals.next_seq(); ++seq) {
    if (!originals.live(seq)) continue;
    ASSIGN_OR_RETURN(const BodyRef at, originals.body(seq));
    ASSIGN_OR_RETURN(const Body body, impl_->bodies.read(at, buffer));
    Metadata metadata;
    RETURN_IF_ERROR(decode_metadata(body.metadata, metadata));
    const std::string name = metadata.name();
    if (!visit({.number = seq - first, .id = name})) break;
  }
  return absl::OkStatus();
}

size_t Index::size() const {
  const std::shared_lock looking(impl_->changing);
  return impl_->engine.originals().stats().live - impl_->against->originals();
}

uint64_t Index::memory_bytes() const {
  const std::shared_lock looking(impl_->changing);
  const OriginalsStats stats = impl_->engine.originals().stats();
  return stats.memory_bytes() + (impl_->memory != nullptr ? impl_->memory->bytes() : 0);
}

}  // namespace doppel
