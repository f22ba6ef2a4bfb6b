#include "pipeline/better_copies.h"

#include <optional>

#include "base/status.h"
#include "records/metadata.h"

namespace doppel {

absl::Status BetterCopies::find(Work& work) {
  Resolved& resolved = work.resolved;
  now_.clear();
  for (size_t i = 0; i < resolved.outcomes.size(); ++i) {
    const Outcome& outcome = resolved.outcomes[i];
    if (outcome.verdict != Verdict::duplicate || outcome.seq < first_own_) continue;
    Metadata document;
    RETURN_IF_ERROR(decode_metadata(work.sign.documents[i].metadata, document));
    const std::optional<BestValue> original = best_of_metadata(outcome.original);
    const auto ours = [&](const std::optional<BestValue>& v) { return v && v->tag == best_.tag(); };
    if (!ours(document.best) || !document.best->value || !ours(original)) continue;

    const auto now = now_.find(outcome.seq);
    const std::string* before = now != now_.end() ? &resolved.better[now->second].copy : shown_(outcome.seq);
    std::optional<double> than = original->value;
    if (before != nullptr) {
      ShownCopy copy;
      RETURN_IF_ERROR(decode_shown(*before, copy));
      than = copy.value;
    }
    if (!best_.better(document.best->value, than)) continue;
    const std::string event_id = document.event_id(), id = document.name();
    BetterCopy better{.document = i,
                      .seq = outcome.seq,
                      .copy = encode_shown({*document.best->value, event_id, id}),
                      .before = before == nullptr ? "" : *before};
    now_[outcome.seq] = resolved.better.size();
    resolved.better.push_back(std::move(better));
  }
  return absl::OkStatus();
}

}  // namespace doppel
