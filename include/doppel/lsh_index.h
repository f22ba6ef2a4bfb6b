#pragma once
// The LSH index on its own: it finds the inserted signatures that are probably similar to a given one.

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
  int bands = 0;          // if set together with rows, replaces threshold and recall
  int rows = 0;
  SignatureOptions signature;  // all signatures inserted and queried must have these options
};

// Not thread-safe, except that several threads may call query() at the same time.
class LshIndex {
 public:
  struct Match {
    std::string id;
    double jaccard = 0;  // estimated from the bits that the index keeps of each signature
  };

  // The error names the impossible option, its value, and the possible values.
  static absl::StatusOr<std::unique_ptr<LshIndex>> create(const LshIndexOptions& options);
  ~LshIndex();

  // Returns false if the id exists already or the signature is empty. Fails if the signature has other
  // options; the error names the option that differs. In both cases nothing changes.
  absl::StatusOr<bool> insert(std::string_view id, const Signature& signature);
  // Returns the most similar match first. Fails like insert().
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
