#include "engine/document_set.h"

namespace doppel {

absl::Status DocumentSet::make(const SignedDocument& document) {
  if (made) return absl::OkStatus();
  made = true;
  const std::string& ready = coded.empty() ? document.coded_set : coded;
  if (!ready.empty()) return decode_compact_set(ready, set);
  make_compact_set(document.tops, set);
  return absl::OkStatus();
}

void DocumentSet::code(const SignedDocument& document) {
  if (!coded.empty() || document.content != Content::shingled || document.set_left_out) return;
  if (!document.coded_set.empty()) {
    coded = document.coded_set;
    return;
  }
  // Most documents are never compared, so nobody needs the set itself. One buffer serves all of them.
  thread_local CompactSet passing;
  if (!made) make_compact_set(document.tops, passing);
  encode_compact_set(made ? set : passing, coded);
}

}  // namespace doppel
