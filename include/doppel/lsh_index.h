#pragma once
// The index on its own: which of the inserted signatures are probably similar to this one?

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "doppel/signature.h"

namespace doppel {

struct LshIndexOptions {
  double threshold = 0.8;
  double recall = 0.995;  // probability that a pair at the threshold is found
  int bands = 0;          // with rows: instead of the two above
  int rows = 0;
  SignatureOptions signature;  // what is inserted and queried is made with these
};

// Not for use by several threads at once, but for query(), which may run beside itself.
class LshIndex {
 public:
  struct Match {
    std::string id;
    double jaccard = 0;  // estimated from what the index keeps of a signature
  };

  // The error names the option that is impossible, its value, and what would be possible.
  static absl::StatusOr<std::unique_ptr<LshIndex>> create(const LshIndexOptions& options);
  ~LshIndex();

  // False, and nothing changes, if the id is there already or the signature is empty. An error, and nothing
  // changes, if it was made with other options: it names the one that differs.
  absl::StatusOr<bool> insert(std::string_view id, const Signature& signature);
  // Most similar first. An error as of insert().
  absl::StatusOr<std::vector<Match>> query(const Signature& signature) const;
  bool remove(std::string_view id);
  bool contains(std::string_view id) const;
  size_t size() const;

 private:
  struct Impl;
  explicit LshIndex(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
