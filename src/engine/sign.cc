#include "engine/sign.h"

#include <algorithm>

#include "base/bytes.h"
#include "engine/bodies.h"
#include "index/index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace doppel {
namespace {

// No value of a coded set takes more bits, except in sets far below any limit.
constexpr uint64_t kBitsPerValue = 12;

// Longer texts (some 100 MB) have no prints, because their shingles would have to be kept in order.
constexpr size_t kOrderedMost = size_t{1} << 24;

constexpr uint64_t kScopeTag = 0x73636f7065;

// Mixes the scope into digest and slices, so that documents of different scopes have nothing in common.
void apply_scope(const HashKey& key, std::string_view scope, Digest& digest, uint8_t* slices, int num_perm) {
  uint64_t tag = key.derive(scope, kScopeTag);
  digest.low = mix64(digest.low ^ tag);
  digest.high = mix64(digest.high + tag);
  if (slices == nullptr) return;
  for (int i = 0; i < num_perm; ++i) {
    if (i % 8 == 0) tag = mix64(tag + 0x9e3779b97f4a7c15u);
    slices[i] ^= static_cast<uint8_t>(tag >> (i % 8 * 8));
  }
}

}  // namespace

std::string Scheme::describe() const {
  auto line = [](const char* name, const std::string& value) {
    return std::string(name) + "=" + value + "\n";
  };
  static constexpr char kHex[] = "0123456789abcdef";
  std::string fingerprint;
  uint64_t print = key.derive("fingerprint");
  for (int shift = 28; shift >= 0; shift -= 4) fingerprint.push_back(kHex[print >> shift & 15]);
  return line("hash_key_fingerprint", fingerprint) +
         line("normaliser", std::string(normalisation_name(normalisation))) +
         line("unicode", std::string(kUnicodeVersion)) +
         line("shingle_words", std::to_string(shingle_words)) +
         line("sketch", std::string(sketch_family_name(family))) +
         line("num_perm", std::to_string(num_perm)) + line("slice_bits", "8") + line("set_format", "1") +
         line("max_record", std::to_string(max_record)) +
         (min_shingles > 1 ? line("min_shingles", std::to_string(min_shingles)) : std::string()) +
         (passage != 0 ? line("prints", "1") + line("passage", std::to_string(passage)) : std::string()) +
         text;
}

uint64_t id_tag(const HashKey& key, std::string_view id) {
  return XXH3_64bits_withSeed(id.data(), id.size(), key.derive("id"));
}

uint32_t payload_bits(const Digest& payload) {
  if (payload == Digest()) return 0;
  return std::max<uint32_t>(1, static_cast<uint32_t>(payload.low) & ((1u << kPayloadBits) - 1));
}

Signer::Signer(const Scheme& scheme, bool with_sets)
    : scheme_(scheme),
      with_sets_(with_sets),
      digester_(scheme.key),
      sketcher_(scheme.family, scheme.num_perm, scheme.key),
      shingler_(scheme.key, scheme.shingle_words, scheme.normalisation),
      slots_(scheme.num_perm),
      max_values_(scheme.max_record * 8 / kBitsPerValue) {}

Digest Signer::payload(std::string_view payload_digest, std::string_view scope) const {
  if (payload_digest.empty()) return {};
  Digest out = digester_.digest(payload_digest);
  if (!scope.empty()) apply_scope(scheme_.key, scope, out, nullptr, 0);
  return out;
}

void Signer::sign(std::string_view text, std::string_view scope, SignedDocument& out, uint8_t* slices) {
  constexpr size_t kOneShot = 1 << 20;
  if (text.size() > kOneShot) {
    begin(scope);
    for (size_t at = 0; at < text.size(); at += kOneShot) update(text.substr(at, kOneShot));
    end(out, slices);
    return;
  }
  // The common case avoids copies: the values go straight into the result.
  out.digest = digester_.digest(text);
  out.set_left_out = false;
  out.tops.clear();
  out.prints.clear();
  out.coded_set.clear();
  shingles_.clear();
  shingler_.update(text, shingles_);
  shingler_.finish(shingles_);
  if (shingles_.size() < static_cast<size_t>(std::max(1, scheme_.min_shingles))) {
    out.content = text.empty() ? Content::empty : Content::digest_only;
    if (!scope.empty()) apply_scope(scheme_.key, scope, out.digest, nullptr, 0);
    return;
  }
  out.content = Content::shingled;
  if (with_sets_) {
    out.tops.resize(shingles_.size());
    for (size_t i = 0; i < shingles_.size(); ++i) out.tops[i] = static_cast<uint32_t>(shingles_[i] >> 32);
    out.set_left_out = with_prints() ? too_many_ordered(out.tops) : too_many_values(out.tops);
    if (out.set_left_out) {
      out.tops = {};
    } else if (with_prints()) {
      make_prints(shingles_, out.tops, scope, out.prints);
    }
  }
  sketcher_.clear(slots_.data());
  sketcher_.update(slots_.data(), shingles_);
  sketcher_.slices(slots_.data(), slices);
  if (!scope.empty()) apply_scope(scheme_.key, scope, out.digest, slices, scheme_.num_perm);
}

void Signer::begin(std::string_view scope) {
  digest_stream_.emplace(digester_);
  scope_ = scope;
  tops_.clear();
  in_order_.clear();
  any_text_ = left_out_ = false;
  shingle_count_ = 0;
  sketcher_.clear(slots_.data());
  shingles_.clear();
}

void Signer::update(std::string_view piece) {
  constexpr size_t kStep = 64 << 10;
  digest_stream_->update(piece);
  any_text_ |= !piece.empty();
  for (size_t at = 0; at < piece.size(); at += kStep) {
    shingler_.update(piece.substr(at, kStep), shingles_);
    absorb();
  }
}

void Signer::end(SignedDocument& out, uint8_t* slices) {
  shingler_.finish(shingles_);
  absorb();
  const bool ordered = with_prints() && in_order_.size() == shingle_count_;
  if (!left_out_ && (ordered ? too_many_ordered(tops_) : too_many_values(tops_))) leave_out();
  out.digest = digest_stream_->finish();
  digest_stream_.reset();
  const bool enough = shingle_count_ >= static_cast<uint64_t>(std::max(1, scheme_.min_shingles));
  out.set_left_out = left_out_ && enough;
  out.coded_set.clear();
  out.tops.assign(tops_.begin(), enough ? tops_.end() : tops_.begin());
  out.prints.clear();
  if (enough && ordered && !left_out_) make_prints(in_order_, out.tops, scope_, out.prints);
  in_order_ = {};
  out.content = enough ? Content::shingled : any_text_ ? Content::digest_only : Content::empty;
  if (enough) sketcher_.slices(slots_.data(), slices);
  if (!scope_.empty())
    apply_scope(scheme_.key, scope_, out.digest, enough ? slices : nullptr, scheme_.num_perm);
}

void Signer::absorb() {
  if (shingles_.empty()) return;
  shingle_count_ += shingles_.size();
  sketcher_.update(slots_.data(), shingles_);
  if (with_sets_ && !left_out_) {
    for (uint64_t shingle : shingles_) tops_.push_back(static_cast<uint32_t>(shingle >> 32));
    if (with_prints() && shingle_count_ <= kOrderedMost) {
      in_order_.insert(in_order_.end(), shingles_.begin(), shingles_.end());
    } else if (tops_.size() > 2 * max_values_ && too_many_values(tops_)) {
      leave_out();
    }
  }
  shingles_.clear();
}

// Whether there are more than max_values_ distinct values. Removes repeats if it has to check.
bool Signer::too_many_values(PodVector<uint32_t>& tops) const {
  if (tops.size() <= max_values_) return false;
  std::sort(tops.begin(), tops.end());
  tops.erase(std::unique(tops.begin(), tops.end()), tops.end());
  return tops.size() > max_values_;
}

// Like too_many_values(), but keeps the order.
bool Signer::too_many_ordered(const PodVector<uint32_t>& tops) const {
  if (tops.size() <= max_values_) return false;
  PodVector<uint32_t> copy = tops;
  return too_many_values(copy);
}

// Makes no prints if they might not fit into max_record.
void Signer::make_prints(const PodVector<uint64_t>& shingles, const PodVector<uint32_t>& tops,
                         std::string_view scope, PodVector<Print>& out) const {
  uint64_t salt = scheme_.key.derive("print");
  if (!scope.empty()) salt = mix64(salt ^ scheme_.key.derive(scope, kScopeTag));
  find_prints(shingles, tops, scheme_.passage, salt, out);
  if (out.size() * kStoredPrintBytes > scheme_.max_record) out.clear();
}

void Signer::leave_out() {
  left_out_ = true;
  tops_ = {};
}

absl::Status DocumentSet::make(const SignedDocument& document) {
  if (made) return absl::OkStatus();
  made = true;
  const std::string& ready = coded.empty() ? document.coded_set : coded;
  if (!ready.empty()) return decode_compact_set(ready, set);
  make_compact_set(document.tops, set);
  return absl::OkStatus();
}

void DocumentSet::code(const SignedDocument& document) {
  if (!coded.empty() || document.content != Content::shingled || document.set_left_out) return;
  if (!document.coded_set.empty()) {
    coded = document.coded_set;
    return;
  }
  // Most documents are never compared, so nobody needs the set itself. One buffer serves all of them.
  thread_local CompactSet passing;
  if (!made) make_compact_set(document.tops, passing);
  encode_compact_set(made ? set : passing, coded);
}

}  // namespace doppel
