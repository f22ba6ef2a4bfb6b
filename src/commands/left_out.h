#pragma once
// The files that `scan --keep-files` does not copy although they are no copies: hidden and empty ones, those
// without text, and those of many documents. Somebody who deletes the folder afterwards must know of them.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "pipeline/pipeline.h"

namespace doppel {

class LeftOut {
 public:
  // Adds the whole files of a batch that were judged.
  void add(const Decided& decided);
  // Finds all other files below `paths`, but not below or among `ours`, which doppel writes.
  void find(const std::vector<std::string>& paths, const std::vector<std::string>& ours);
  // The files that find() found, in the order of their paths.
  const std::vector<std::string>& files() const { return files_; }
  // What they are: "3 hidden, 2 empty, 7 .pdf".
  std::string kinds() const;

 private:
  using Identity = std::pair<uint64_t, uint64_t>;  // device and inode
  absl::flat_hash_set<Identity> judged_;
  std::vector<std::string> files_;
  std::map<std::string, uint64_t> kinds_;
};

}  // namespace doppel
