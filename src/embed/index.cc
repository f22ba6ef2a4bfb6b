#include "doppel/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/status.h"
#include "embed/options.h"
#include "records/metadata.h"
#include "session/same_document.h"
#include "session/session.h"
#include "session/stages.h"
#include "state/scheme.h"
#include "state/state_view.h"

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

absl::StatusOr<Judgement> judgement_of(Outcome& outcome, std::string_view text, Normalisation normalisation) {
  Judgement out{.verdict = outcome.verdict, .kind = outcome.kind};
  if (outcome.verdict == Verdict::unique && !outcome.related.empty()) {
    find_bytes(text, normalisation, outcome);
    for (const Related& found : outcome.related) {
      Metadata original;
      RETURN_IF_ERROR(decode_metadata(found.original, original));
      RelatedOriginal& related =
          out.related.emplace_back(RelatedOriginal{.id = original.name(),
                                                   .relation = found.relation,
                                                   .of_document = share({found.shared, found.of_document}),
                                                   .of_original = share({found.shared, found.of_original})});
      for (const ByteRange& bytes : found.bytes) related.passages.push_back({bytes.begin, bytes.end});
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
  Impl(std::unique_ptr<Session> opened, int threads)
      : session(std::move(opened)), stages(session->engine(), threads), signers(signers_for(stages)) {}

  std::vector<Signer> signers_for(const Stages& with) const {
    std::vector<Signer> out;
    out.reserve(static_cast<size_t>(with.threads()));
    for (int i = 0; i < with.threads(); ++i) out.push_back(session->engine().make_signer());
    return out;
  }

  // SIGN for `documents`, which have numbers from `first` on.
  Stages::Sign sign(std::span<const Document> documents, uint64_t first, std::vector<Signer>& with) const {
    return [this, documents, first, &with](int worker, size_t i, SignedDocument& out, uint8_t* slices) {
      const Document& document = documents[i];
      const std::string by_number = document.id.empty() ? fmt::format("{}", first + i) : std::string();
      const std::string_view id = document.id.empty() ? by_number : document.id;
      out.action = SignedDocument::Action::judge;
      out.id_tag = session->tag(id);
      out.replace = session->engine().options().rule.replace;
      out.payload = {};
      out.timestamp_ms = document.timestamp_ms.value_or(kNoTime);
      encode_metadata(
          {.source = kProgramSource, .offset = first + i, .date_ms = document.timestamp_ms, .key = id},
          out.metadata);
      with[static_cast<size_t>(worker)].sign(document.text, document.scope, out, slices);
    };
  }

  absl::Status check(std::span<const Document> given) const {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].id.size() + 64 > kMaxMetadata)
        return invalid(fmt::format("documents[{}].id has {} bytes, more than {}", i, given[i].id.size(),
                                   kMaxMetadata - 64));
    }
    return absl::OkStatus();
  }

  // Decides and commits one batch. The originals in `removed` are removed before it.
  absl::Status decide(std::span<const Document> batch, std::vector<Seq> removed = {}) {
    stages.sign(work, batch.size(), sign(batch, session->documents(), signers));
    work.forget = std::move(removed);
    MatchCounters counters;
    RETURN_IF_ERROR(stages.match(work, counters));
    RETURN_IF_ERROR(stages.resolve(session->engine(), work));
    return session->commit(work.resolved, batch.size());
  }

  absl::StatusOr<Judgement> judgement(Outcome& outcome, const Document& document) const {
    return judgement_of(outcome, document.text, session->engine().options().scheme.normalisation);
  }

  // Runs one change at a time. After an error, no change is possible any more.
  template <typename Change>
  absl::Status change(const Change& what) {
    const std::lock_guard lock(changing);
    if (!broken.ok()) return broken;
    broken = what();
    return broken;
  }

  const std::unique_ptr<Session> session;
  Stages stages;
  std::vector<Signer> signers;
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
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                   Session::open({.engine = std::move(engine),
                                  .state = {.directory = directory},
                                  .against = options.against,
                                  .memory = static_cast<uint64_t>(options.memory),
                                  .temporary_directory = std::nullopt,
                                  .threads = options.threads}));
  return std::unique_ptr<Index>(
      new Index(std::make_unique<Impl>(std::move(session), all_if_zero(options.threads))));
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
        Outcome& outcome = impl_->work.resolved.outcomes[i];
        const bool again = outcome.verdict == Verdict::duplicate && outcome.kind == Kind::exact &&
                           outcome.seq >= impl_->session->engine().originals().first_own() &&
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
  const Engine& engine = impl_->session->engine();
  const size_t helpers = std::max<size_t>(1, documents.size() / kGrain);
  Stages stages(engine,
                static_cast<int>(std::min<size_t>(helpers, static_cast<size_t>(impl_->stages.threads()))));
  std::vector<Signer> signers = impl_->signers_for(stages);
  std::vector<Judgement> out;
  out.reserve(documents.size());
  Work work;
  std::vector<Outcome> outcomes;
  for (size_t at = 0; at < documents.size(); at += kBatch) {
    const auto batch = documents.subspan(at, std::min(kBatch, documents.size() - at));
    stages.sign(work, batch.size(), impl_->sign(batch, 0, signers));
    outcomes.assign(batch.size(), {});
    const std::shared_lock looking(impl_->changing);
    RETURN_IF_ERROR(stages.query(work, outcomes));
    for (size_t i = 0; i < batch.size(); ++i) {
      ASSIGN_OR_RETURN(out.emplace_back(), impl_->judgement(outcomes[i], batch[i]));
    }
  }
  return out;
}

absl::StatusOr<std::vector<Index::Near>> Index::nearest(const Document& document, size_t most) const {
  RETURN_IF_ERROR(impl_->check(std::span(&document, 1)));
  Stages stages(impl_->session->engine(), 1);
  std::vector<Signer> signers = impl_->signers_for(stages);
  Work work;
  stages.sign(work, 1, impl_->sign(std::span(&document, 1), 0, signers));
  std::vector<Verified> found;
  const std::shared_lock looking(impl_->changing);
  RETURN_IF_ERROR(stages.nearest(work, most, std::span(&found, 1)));
  std::vector<Near> out;
  for (const Verified& original : found) {
    ASSIGN_OR_RETURN(std::string id, impl_->session->name(original.seq));
    out.push_back({.id = std::move(id), .similarity = share(original.overlap)});
  }
  return out;
}

absl::StatusOr<bool> Index::remove(std::string_view id) {
  bool any = false;
  absl::Status changed = impl_->change([&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<Seq> found, impl_->session->find(id));
    any = !found.empty();
    return any ? impl_->decide({}, std::move(found)) : absl::OkStatus();
  });
  if (!changed.ok()) return changed;
  return any;
}

absl::Status Index::save() {
  return impl_->change([&] { return impl_->session->checkpoint(); });
}

absl::Status Index::for_each(const std::function<bool(const Original&)>& visit) const {
  const std::shared_lock looking(impl_->changing);
  const Originals& originals = impl_->session->engine().originals();
  const Seq first = originals.first_own();
  for (Seq seq = std::max(originals.lowest_live(), first); seq < originals.next_seq(); ++seq) {
    if (!originals.live(seq)) continue;
    ASSIGN_OR_RETURN(const std::string name, impl_->session->name(seq));
    if (!visit({.number = seq - first, .id = name})) break;
  }
  return absl::OkStatus();
}

size_t Index::size() const {
  const std::shared_lock looking(impl_->changing);
  return impl_->session->own();
}

uint64_t Index::memory_bytes() const {
  const std::shared_lock looking(impl_->changing);
  return impl_->session->memory_bytes();
}

}  // namespace doppel
