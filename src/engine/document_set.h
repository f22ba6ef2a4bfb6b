#pragma once
// The set of one document of a batch, in the two forms that are needed: sorted values to compare, and coded
// to be stored. Each is made once, when something first needs it.

#include <string>

#include "absl/status/status.h"
#include "engine/sign.h"
#include "sketch/compact_set.h"

namespace doppel {

struct DocumentSet {
  bool made = false;
  CompactSet set;
  std::string coded;  // empty: not made, or left out

  void clear() {
    made = false;
    coded.clear();
  }
  absl::Status make(const SignedDocument& document);
  void code(const SignedDocument& document);
};

}  // namespace doppel
