#include "doppel/lsh_index.h"

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "engine/engine.h"
#include "engine/signature_options.h"

namespace doppel {

struct LshIndex::Impl {
  Impl(const CandidateIndexOptions& options, const SignatureOptions& signature)
      : signature_options(signature),
        index(options),
        sketcher(SketchFamily::fast, signature.num_perm, options.key),
        slices(signature.num_perm),
        keys(options.banding.bands),
        all_bands(options.banding.mask_words(), ~0u) {}

  // Computes the slices and band keys of a signature.
  void prepare(const Signature& signature, uint8_t* slices_out, uint64_t* keys_out) const {
    sketcher.slices(signature.slots().data(), slices_out);
    index.band_keys(slices_out, keys_out);
  }

  SignatureOptions signature_options;
  CandidateIndex index;
  Sketcher sketcher;  // both families use the same slices
  std::vector<uint8_t> slices;
  std::vector<uint64_t> keys;
  BandMask all_bands;
  std::vector<std::string> ids;  // by sequence number; "" if removed
  absl::flat_hash_map<std::string, Seq> by_id;
};

absl::StatusOr<std::unique_ptr<LshIndex>> LshIndex::create(const LshIndexOptions& o) {
  RETURN_IF_ERROR(check_signature_options(o.signature));
  ASSIGN_OR_RETURN(Rule rule, make_rule(o.threshold, o.recall, o.signature.num_perm, o.bands, o.rows));
  CandidateIndexOptions options{.num_perm = o.signature.num_perm,
                                .banding = rule.banding,
                                .min_equal = rule.min_equal,
                                .key = {o.signature.hash_key[0], o.signature.hash_key[1]}};
  return std::unique_ptr<LshIndex>(new LshIndex(std::make_unique<Impl>(options, o.signature)));
}

LshIndex::LshIndex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LshIndex::~LshIndex() = default;

absl::StatusOr<bool> LshIndex::insert(std::string_view id, const Signature& signature) {
  RETURN_IF_ERROR(check_same_options(impl_->signature_options, signature.options()));
  if (signature.empty() || contains(id)) return false;
  impl_->prepare(signature, impl_->slices.data(), impl_->keys.data());
  impl_->by_id.emplace(std::string(id), impl_->index.next_seq());
  impl_->ids.emplace_back(id);
  Row row{.slices = impl_->slices.data(), .mask = impl_->all_bands.data()};
  row.digest = {impl_->index.next_seq(), 0};  // not used, but must be unique
  impl_->index.insert(std::span(&row, 1), impl_->keys.data());
  return true;
}

absl::StatusOr<std::vector<LshIndex::Match>> LshIndex::query(const Signature& signature) const {
  RETURN_IF_ERROR(check_same_options(impl_->signature_options, signature.options()));
  std::vector<Match> out;
  if (signature.empty()) return out;
  std::vector<uint8_t> slices(impl_->slices.size());
  std::vector<uint64_t> keys(impl_->keys.size());
  impl_->prepare(signature, slices.data(), keys.data());
  Query query{.slices = slices.data(), .band_keys = keys.data(), .digest = {~0ull, ~0ull}};
  Found found;
  impl_->index.lookup(std::span(&query, 1), std::span(&found, 1));
  for (const Candidate& candidate : found.candidates) {
    Overlap overlap = overlap_from_slices(candidate.equal, static_cast<int>(slices.size()));
    out.push_back(
        {impl_->ids[candidate.seq], static_cast<double>(overlap.inter) / static_cast<double>(overlap.uni)});
  }
  return out;
}

bool LshIndex::remove(std::string_view id) {
  auto it = impl_->by_id.find(absl_sv(id));
  if (it == impl_->by_id.end()) return false;
  impl_->index.remove(it->second);
  impl_->ids[it->second].clear();
  impl_->by_id.erase(it);
  return true;
}

bool LshIndex::contains(std::string_view id) const { return impl_->by_id.contains(absl_sv(id)); }
size_t LshIndex::size() const { return impl_->by_id.size(); }

}  // namespace doppel
