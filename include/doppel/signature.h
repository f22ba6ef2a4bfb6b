#pragma once
// The sketch on its own: a fixed number of slots that represent a set of shingles of any size.
//
//   doppel::Signature a, b;
//   a.update_text("the quick brown fox jumps over the lazy dog");
//   b.update_text("the quick brown fox jumps over a lazy dog");
//   double similarity = a.jaccard(b).value();

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace doppel {

// Signatures can be compared and merged only if all their options are equal.
struct SignatureOptions {
  int num_perm = 128;         // slots; the error of an estimate falls with their square root
  int shingle_words = 5;      // words of a shingle, for update_text
  bool classic = false;       // classic MinHash instead of fast similarity sketching
  uint64_t hash_key[2] = {};  // secret
};

// A value type: copies are independent. Not thread-safe.
class Signature {
 public:
  Signature();  // with the default options
  // The error names the option that is out of range, its value and the range.
  static absl::StatusOr<Signature> create(const SignatureOptions& options);
  ~Signature();
  Signature(const Signature& other);
  Signature& operator=(const Signature& other);
  Signature(Signature&&) noexcept;
  Signature& operator=(Signature&&) noexcept;

  // Adds one element to the set, such as a token or a shingle of the caller. Adding it a second time changes
  // nothing.
  void update(std::string_view element);

  // Adds all shingles of a text, split as the detector splits it. To add a text in pieces, call begin_text(),
  // then add_piece() for each piece, then end_text(). A piece may end anywhere. add_piece() without
  // begin_text() begins a text.
  void update_text(std::string_view text);
  void begin_text();
  void add_piece(std::string_view piece);
  void end_text();

  // Turns this signature into the signature of the union of both sets. Fails if the options differ; the error
  // names the option, and nothing changes.
  absl::Status merge(const Signature& other);

  // Returns the share of equal slots: an unbiased estimate of the Jaccard similarity. Returns 0 if either
  // signature is empty. Fails like merge().
  absl::StatusOr<double> jaccard(const Signature& other) const;

  bool empty() const;  // true if nothing was added
  const SignatureOptions& options() const;
  const std::vector<uint64_t>& slots() const;

 private:
  struct Impl;
  explicit Signature(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
