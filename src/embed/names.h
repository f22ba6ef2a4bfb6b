#pragma once
// Originals by the names of their documents. Those that another program inserted (doppel scan) have no tag in
// the index by which an id is found: their names are read once, when somebody asks for an id.

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/engine.h"

namespace doppel {

class Names {
 public:
  // Originals below `untagged_end` may be without a tag. All else outlives it.
  Names(const Engine& engine, const Bodies& bodies, Seq untagged_end)
      : engine_(engine), bodies_(bodies), untagged_end_(untagged_end) {}

  // The tag under which the index keeps the originals of a program.
  uint64_t tag(std::string_view id) const;
  // Live originals of this name, ascending.
  absl::StatusOr<std::vector<Seq>> find(std::string_view id);

 private:
  absl::Status read_untagged();

  const Engine& engine_;
  const Bodies& bodies_;
  Seq untagged_end_;
  bool read_ = false;
  absl::flat_hash_map<std::string, std::vector<Seq>> untagged_;
};

}  // namespace doppel
