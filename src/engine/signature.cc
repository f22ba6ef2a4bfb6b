// Signatures without an index (doppel/signature.h), and an LSH index of them (doppel/lsh_index.h).

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/status.h"
#include "doppel/lsh_index.h"
#include "doppel/signature.h"
#include "engine/engine.h"
#include "engine/settings.h"
#include "sketch/sketch.h"
#include "text/shingler.h"

namespace doppel {
namespace {

absl::Status differs(const std::string& name, const std::string& ours, const std::string& theirs) {
  return invalid(name + ": " + theirs + ", but " + ours +
                 " here; signatures can be compared only if they have the same options");
}

// InvalidArgument names the option that is out of range.
absl::Status check_signature_options(const SignatureOptions& o) {
  RETURN_IF_ERROR(within(limits::kNumPerm, o.num_perm));
  return within(limits::kShingleWords, o.shingle_words);
}

// Returns InvalidArgument unless both are equal. The error names the first option that differs, and both
// values, but never shows a key.
absl::Status check_same_options(const SignatureOptions& ours, const SignatureOptions& theirs) {
  const auto sketch = [](bool classic) { return std::string(classic ? "true" : "false"); };
  if (ours.num_perm != theirs.num_perm)
    return differs("num_perm", std::to_string(ours.num_perm), std::to_string(theirs.num_perm));
  if (ours.shingle_words != theirs.shingle_words)
    return differs("shingle_words", std::to_string(ours.shingle_words), std::to_string(theirs.shingle_words));
  if (ours.classic != theirs.classic) return differs("classic", sketch(ours.classic), sketch(theirs.classic));
  if (ours.hash_key[0] != theirs.hash_key[0] || ours.hash_key[1] != theirs.hash_key[1])
    return differs("hash_key", "another one", "one key");
  return absl::OkStatus();
}

}  // namespace

struct Signature::Impl {
  explicit Impl(const SignatureOptions& o)
      : options(o),
        key{o.hash_key[0], o.hash_key[1]},
        sketcher(o.classic ? SketchFamily::classic : SketchFamily::fast, o.num_perm, key),
        element_salt(key.derive("element")),
        slots(o.num_perm) {
    sketcher.clear(slots.data());
  }

  void take_shingles() {
    if (shingles.empty()) return;
    sketcher.update(slots.data(), shingles);
    empty = false;
    shingles.clear();
  }

  SignatureOptions options;
  HashKey key;
  Sketcher sketcher;
  uint64_t element_salt;
  std::vector<uint64_t> slots;
  bool empty = true;
  // Only for a text that is being added; copies do not share it.
  std::unique_ptr<Shingler> shingler;
  PodVector<uint64_t> shingles;
};

Signature::Signature() : impl_(new Impl(SignatureOptions{})) {}
Signature::Signature(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

absl::StatusOr<Signature> Signature::create(const SignatureOptions& options) {
  RETURN_IF_ERROR(check_signature_options(options));
  return Signature(std::make_unique<Impl>(options));
}

Signature::~Signature() = default;
Signature::Signature(Signature&&) noexcept = default;
Signature& Signature::operator=(Signature&&) noexcept = default;

Signature::Signature(const Signature& other) : impl_(new Impl(other.impl_->options)) { *this = other; }

Signature& Signature::operator=(const Signature& other) {
  if (this == &other) return *this;
  impl_ = std::make_unique<Impl>(other.impl_->options);
  impl_->slots = other.impl_->slots;
  impl_->empty = other.impl_->empty;
  return *this;
}

void Signature::update(std::string_view element) {
  const uint64_t hash = XXH3_64bits_withSeed(element.data(), element.size(), impl_->element_salt);
  impl_->sketcher.update(impl_->slots.data(), std::span(&hash, 1));
  impl_->empty = false;
}

void Signature::update_text(std::string_view text) {
  begin_text();
  add_piece(text);
  end_text();
}

void Signature::begin_text() {
  impl_->shingler = std::make_unique<Shingler>(impl_->key, impl_->options.shingle_words);
  impl_->shingles.clear();
}

void Signature::add_piece(std::string_view piece) {
  if (impl_->shingler == nullptr) begin_text();
  constexpr size_t kStep = 64 << 10;
  for (size_t at = 0; at < piece.size(); at += kStep) {
    impl_->shingler->update(piece.substr(at, kStep), impl_->shingles);
    impl_->take_shingles();
  }
}

void Signature::end_text() {
  if (impl_->shingler == nullptr) return;
  impl_->shingler->finish(impl_->shingles);
  impl_->take_shingles();
  impl_->shingler.reset();
}

absl::Status Signature::merge(const Signature& other) {
  RETURN_IF_ERROR(check_same_options(impl_->options, other.impl_->options));
  if (other.impl_->empty) return absl::OkStatus();
  impl_->sketcher.merge(impl_->slots.data(), other.impl_->slots.data());
  impl_->empty = false;
  return absl::OkStatus();
}

absl::StatusOr<double> Signature::jaccard(const Signature& other) const {
  RETURN_IF_ERROR(check_same_options(impl_->options, other.impl_->options));
  if (impl_->empty || other.impl_->empty) return 0;
  return estimate_jaccard(impl_->slots.data(), other.impl_->slots.data(), impl_->options.num_perm);
}

bool Signature::empty() const { return impl_->empty; }
const SignatureOptions& Signature::options() const { return impl_->options; }
const std::vector<uint64_t>& Signature::slots() const { return impl_->slots; }

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
  auto found = impl_->by_id.find(absl_sv(id));
  if (found == impl_->by_id.end()) return false;
  impl_->index.remove(found->second);
  impl_->ids[found->second].clear();
  impl_->by_id.erase(found);
  return true;
}

bool LshIndex::contains(std::string_view id) const { return impl_->by_id.contains(absl_sv(id)); }
size_t LshIndex::size() const { return impl_->by_id.size(); }

}  // namespace doppel
