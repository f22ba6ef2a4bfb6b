#pragma once
// The set of one document of a batch in two forms: sorted values for comparison, and coded for storage. Each
// is made when it is first needed.

#include <string>

#include "absl/status/status.h"
#include "engine/sign.h"
#include "sketch/compact_set.h"

namespace doppel {

struct DocumentSet {
  bool made = false;
  CompactSet set;
  std::string coded;               // empty if not made yet, or left out
  PodVector<uint32_t> cell_sizes;  // see TextMap; empty if not counted yet

  void clear() {
    made = false;
    coded.clear();
    cell_sizes.clear();
  }
  absl::Status make(const SignedDocument& document);
  void code(const SignedDocument& document);
};

}  // namespace doppel
