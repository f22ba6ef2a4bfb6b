#include "doppel/detector.h"

#include "base/status.h"
#include "engine/engine.h"
#include "engine/limits.h"

namespace doppel {
namespace {

constexpr size_t kBatch = 1024;

Judgement judgement_of(const Outcome& outcome) {
  Judgement out{.verdict = outcome.verdict, .kind = outcome.kind};
  if (outcome.verdict == Verdict::duplicate) {
    out.similarity =
        static_cast<double>(outcome.similarity.inter) / static_cast<double>(outcome.similarity.uni);
    out.duplicate_of = outcome.original;
  }
  return out;
}

}  // namespace

struct Detector::Impl {
  Impl(const EngineOptions& options)
      : bodies(memory_bodies()), engine(options, *bodies), signer(engine.make_signer()) {}

  void sign(const Document& document, size_t i) {
    SignedDocument& out = work.sign.documents[i];
    out.action = SignedDocument::Action::judge;
    out.timestamp_ms = document.timestamp_ms.value_or(kNoTime);
    out.id_tag = engine.id_tag(document.id);
    out.metadata.assign(document.id);
    signer.sign(document.text, document.scope, out,
                work.sign.slices.data() + i * engine.options().scheme.num_perm);
  }

  std::unique_ptr<Bodies> bodies;
  Engine engine;
  Signer signer;
  Work work;
  MatchCounters counters;
};

absl::StatusOr<std::unique_ptr<Detector>> Detector::create(const DetectorOptions& o) {
  RETURN_IF_ERROR(within(limits::kShingleWords, o.shingle_words));
  RETURN_IF_ERROR(within(limits::kMaxListed, o.max_listed));
  RETURN_IF_ERROR(within(limits::kMaxChecks, o.max_checks));
  RETURN_IF_ERROR(within(limits::kExpireAfter, o.expire_after_ms, "expire_after_ms"));
  RETURN_IF_ERROR(within(limits::kShards, o.shards));
  EngineOptions options;
  options.scheme.key = {o.hash_key[0], o.hash_key[1]};
  options.scheme.num_perm = o.num_perm;
  options.scheme.shingle_words = o.shingle_words;
  ASSIGN_OR_RETURN(options.rule, make_rule(o.threshold, o.recall, o.num_perm, o.bands, o.rows));
  RETURN_IF_ERROR(within_tables(options.rule.banding.bands, o.shards));
  options.rule.verify = o.verify_by_signature ? Verify::signature : Verify::exact;
  options.rule.max_listed = o.max_listed;
  options.rule.max_checks = o.max_checks;
  options.rule.expire_after_ms = o.expire_after_ms;
  options.shards = o.shards;
  options.track_ids = true;
  return std::unique_ptr<Detector>(new Detector(std::make_unique<Impl>(options)));
}

Detector::Detector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Detector::~Detector() = default;

Judgement Detector::insert(const Document& document) { return insert(std::span(&document, 1)).front(); }

std::vector<Judgement> Detector::insert(std::span<const Document> documents) {
  std::vector<Judgement> out;
  out.reserve(documents.size());
  for (size_t at = 0; at < documents.size(); at += kBatch) {
    std::span<const Document> batch = documents.subspan(at, std::min(kBatch, documents.size() - at));
    impl_->work.resize(batch.size(), impl_->engine.options());
    for (size_t i = 0; i < batch.size(); ++i) impl_->sign(batch[i], i);
    // Bodies in memory neither fail nor decay, so neither do these.
    absl::Status status = impl_->engine.match(impl_->work, 0, batch.size(), impl_->counters);
    if (status.ok()) status = impl_->engine.resolve(impl_->work);
    if (!status.ok()) std::abort();
    for (const Outcome& outcome : impl_->work.resolved.outcomes) out.push_back(judgement_of(outcome));
  }
  return out;
}

Judgement Detector::query(const Document& document) const {
  Signer signer = impl_->engine.make_signer();
  Work work;
  work.resize(1, impl_->engine.options());
  signer.sign(document.text, document.scope, work.sign.documents[0], work.sign.slices.data());
  MatchCounters counters;
  if (!impl_->engine.match(work, 0, 1, counters).ok()) std::abort();
  return judgement_of(impl_->engine.decide(work, 0));
}

bool Detector::remove(std::string_view id) {
  bool any = false;
  for (Seq seq : impl_->engine.originals().find_id(impl_->engine.id_tag(id)))
    any |= impl_->engine.originals().remove(seq);
  return any;
}

size_t Detector::size() const { return impl_->engine.originals().stats().live; }

uint64_t Detector::memory_bytes() const {
  const OriginalsStats stats = impl_->engine.originals().stats();
  return stats.table_bytes + stats.row_bytes + impl_->bodies->bytes();
}

}  // namespace doppel
