#include "pipeline/removals.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr Seq kEndsAtOnce = 2000;

}  // namespace

absl::Status write_removed(const Decided& decided, StoredOriginals& originals, const WriteRemoved& write) {
  const Resolved& resolved = decided.work.resolved;
  for (const Removed& removed : resolved.removed) {
    RemovedOriginal end{.seq = removed.seq, .reason = removed.reason};
    if (!resolved.rows.empty() && removed.seq >= resolved.rows.front().seq) {
      // The original came with this batch.
      const Seq row = removed.seq - resolved.rows.front().seq;
      DOPPEL_CHECK(row < resolved.rows.size(), "what a batch removes was stored", removed.seq,
                   resolved.rows.front().seq, resolved.rows.size());
      end.trusted_ms = resolved.rows[row].trusted_ms;
      const auto is_its = [&](const Outcome& o) {
        return o.verdict == Verdict::unique && !o.again && o.seq == removed.seq;
      };
      const auto its = std::find_if(resolved.outcomes.begin(), resolved.outcomes.end(), is_its);
      DOPPEL_CHECK(its != resolved.outcomes.end(), "each new row is of a document of its batch", removed.seq);
      const auto i = static_cast<size_t>(its - resolved.outcomes.begin());
      end.metadata = decided.work.sign.documents[i].metadata;
      RETURN_IF_ERROR(write(end));
    } else {
      ASSIGN_OR_RETURN(const StoredOriginals::Original original, originals.original(removed.seq));
      end.trusted_ms = original.trusted_ms;
      end.metadata = original.metadata;
      RETURN_IF_ERROR(write(end));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Seq> write_expired(const Resolved& resolved, Seq announced, const Engine& engine,
                                  StoredOriginals& originals, const WriteRemoved& write) {
  // Originals of this batch that are already dead are announced after the next batch.
  const Seq stored = resolved.rows.empty() ? resolved.lowest_live : resolved.rows.front().seq;
  const Seq end = std::min({resolved.lowest_live, announced + kEndsAtOnce, stored});
  absl::flat_hash_set<Seq> written;
  for (const Removed& removed : resolved.removed) written.insert(removed.seq);
  for (Seq seq = announced; seq < end; ++seq) {
    ASSIGN_OR_RETURN(const StoredOriginals::Original original, originals.original(seq));
    if (original.removed || written.contains(seq)) continue;
    RETURN_IF_ERROR(write({.seq = seq,
                           .reason = engine.why_dead(original.trusted_ms),
                           .trusted_ms = original.trusted_ms,
                           .metadata = original.metadata}));
  }
  return std::max(end, announced);
}

}  // namespace doppel
