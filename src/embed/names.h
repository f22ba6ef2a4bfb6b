#pragma once
// Finds originals by the ids of their documents. Originals that another program inserted (doppel scan) have
// no tag for this in the index: their names are read at the first search.

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
  // Originals below `untagged_end` may lack a tag. The references must outlive this object.
  Names(const Engine& engine, const Bodies& bodies, Seq untagged_end)
      : engine_(engine), bodies_(bodies), untagged_end_(untagged_end) {}

  // The tag of an id in the index.
  uint64_t tag(std::string_view id) const;
  // The live originals with this id, ascending.
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
