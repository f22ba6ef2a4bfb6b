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

struct SignatureOptions {
  int num_perm = 128;         // slots: the error of an estimate falls with their square root
  int shingle_words = 5;      // words of a shingle, for update_text
  bool classic = false;       // classic MinHash instead of fast similarity sketching
  uint64_t hash_key[2] = {};  // secret; signatures of different keys do not compare
};

// A value: copies are independent. Not for use by several threads at once.
class Signature {
 public:
  Signature();  // with the default options
  // The error names the option that is out of its range, its value and the range.
  static absl::StatusOr<Signature> create(const SignatureOptions& options);
  ~Signature();
  Signature(const Signature& other);
  Signature& operator=(const Signature& other);
  Signature(Signature&&) noexcept;
  Signature& operator=(Signature&&) noexcept;

  // Adds one element of the set: a token or shingle of your own making. Repeats change nothing.
  void update(std::string_view element);

  // Adds all shingles of a text, as the detector sees them. A text that comes in pieces, cut anywhere, is
  // added by begin_text(), any number of add_piece(), end_text(). A piece without begin_text() begins one.
  void update_text(std::string_view text);
  void begin_text();
  void add_piece(std::string_view piece);
  void end_text();

  // Becomes the signature of the union of both sets. Both must have been made with the same options: the
  // error names the one that differs, and nothing changes.
  absl::Status merge(const Signature& other);

  // The share of equal slots: an unbiased estimate of the Jaccard similarity. 0 if either is empty. An error
  // as of merge().
  absl::StatusOr<double> jaccard(const Signature& other) const;

  bool empty() const;  // nothing was added
  const SignatureOptions& options() const;
  const std::vector<uint64_t>& slots() const;

 private:
  struct Impl;
  explicit Signature(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
