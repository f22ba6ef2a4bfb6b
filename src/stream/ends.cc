#include "stream/ends.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr Seq kTellAtOnce = 2000;

}  // namespace

absl::Status tell_removed(const Decided& decided, StoredOriginals& originals, const TellEnd& tell) {
  const Resolved& resolved = decided.work.resolved;
  for (const Removed& removed : resolved.removed) {
    End end{.seq = removed.seq, .reason = removed.reason};
    if (!resolved.rows.empty() && removed.seq >= resolved.rows.front().seq) {
      // It came with this batch.
      end.trusted_ms = resolved.rows[removed.seq - resolved.rows.front().seq].trusted_ms;
      size_t i = 0;
      while (resolved.outcomes[i].verdict != Verdict::unique || resolved.outcomes[i].seq != removed.seq) ++i;
      end.metadata = decided.work.sign.documents[i].metadata;
      RETURN_IF_ERROR(tell(end));
    } else {
      ASSIGN_OR_RETURN(const StoredOriginals::Original original, originals.original(removed.seq));
      end.trusted_ms = original.trusted_ms;
      end.metadata = original.metadata;
      RETURN_IF_ERROR(tell(end));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Seq> tell_expired(const Resolved& resolved, Seq announced, const Engine& engine,
                                 StoredOriginals& originals, const TellEnd& tell) {
  // What came with this batch and is dead already is told after the next.
  const Seq stored = resolved.rows.empty() ? resolved.lowest_live : resolved.rows.front().seq;
  const Seq end = std::min({resolved.lowest_live, announced + kTellAtOnce, stored});
  absl::flat_hash_set<Seq> told;
  for (const Removed& removed : resolved.removed) told.insert(removed.seq);
  for (Seq seq = announced; seq < end; ++seq) {
    ASSIGN_OR_RETURN(const StoredOriginals::Original original, originals.original(seq));
    if (original.removed || told.contains(seq)) continue;
    RETURN_IF_ERROR(tell({.seq = seq,
                          .reason = engine.why_dead(original.trusted_ms),
                          .trusted_ms = original.trusted_ms,
                          .metadata = original.metadata}));
  }
  return std::max(end, announced);
}

}  // namespace doppel
