// Returns the originals of an index, for another one.
#include <algorithm>

#include "base/status.h"
#include "engine/signed_record.h"
#include "memory_index.h"
#include "open/originals.h"

namespace doppel::python {

absl::StatusOr<std::optional<Seq>> MemoryIndex::originals(Seq from, size_t most, TextBuffer& out) {
  const Originals& index = engine_->originals();
  const Scheme& scheme = engine_->options().scheme;
  RETURN_IF_ERROR(check_handed_on(scheme.describe()));
  const uint64_t fingerprint = scheme_fingerprint(scheme);
  std::string buffer, page, record;
  Seq seq = std::max(from, std::max(index.lowest_live(), first_own()));
  for (; seq < index.next_seq() && out.size() < most; ++seq) {
    if (!index.live(seq)) continue;
    ASSIGN_OR_RETURN(const Row row, index.row(seq, page));
    ASSIGN_OR_RETURN(const Body body, session_->bodies().read(row.body, buffer));
    record.clear();
    RETURN_IF_ERROR(
        encode_original(fingerprint, scheme.num_perm, engine_->options().with_sets(), row, body, record));
    out.add(record);
  }
  return seq < index.next_seq() ? std::optional(seq) : std::nullopt;
}

}  // namespace doppel::python
