#include "session/same_document.h"

#include "engine/resolved.h"
#include "records/metadata.h"

namespace doppel {
namespace {

// Records of a pipe, and documents from a program or by HTTP, have no permanent place.
bool has_place(const Metadata& m) {
  return m.partition >= 0 || (m.source != "-" && m.source != kProgramSource && m.source != kHttpSource);
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Whether name() is more than a place; the name of a whole file is its path.
bool has_name(const Metadata& m) {
  return !m.id.empty() || (m.key && !m.key->empty()) || (m.whole_file && m.source != "-");
}

}  // namespace

bool is_same_document(std::string_view original, std::string_view document) {
  Metadata a, b;
  if (!decode_metadata(original, a).ok() || !decode_metadata(document, b).ok()) return false;
  if (a.date_ms && b.date_ms && *a.date_ms != *b.date_ms) return false;
  const bool same_name = has_name(a) && has_name(b) && a.name() == b.name();
  if (!has_place(a) || !has_place(b)) return same_name;
  if (a.partition != b.partition || a.offset != b.offset) return false;
  return a.source == b.source || (same_name && base_name(a.source) == base_name(b.source));
}

void SameDocuments::correct(Outcome& outcome, std::string_view document) {
  if (outcome.verdict != Verdict::duplicate || outcome.kind != Kind::exact) return;
  if (outcome.seq < own_ || outcome.seq >= first_) return;
  if (!is_same_document(outcome.original, document) || !met_.insert(outcome.seq).second) return;
  outcome.verdict = Verdict::unique;
  outcome.kind = Kind::none;
  outcome.again = true;
}

}  // namespace doppel
