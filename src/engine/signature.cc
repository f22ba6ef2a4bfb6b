#include "doppel/signature.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "base/status.h"
#include "engine/signature_options.h"
#include "sketch/sketch.h"
#include "text/shingler.h"

namespace doppel {

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

}  // namespace doppel
