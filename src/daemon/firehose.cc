#include "daemon/firehose.h"

#include <fmt/format.h>

#include "records/metadata.h"

namespace doppel {

std::string FirehoseWatch::observe(const Decided& decided) {
  if (done_) return {};
  std::string here, there;
  for (size_t i = 0; i < decided.work.resolved.outcomes.size() && documents_ < kDocuments; ++i) {
    const Outcome& outcome = decided.work.resolved.outcomes[i];
    if (outcome.verdict != Verdict::unique && outcome.verdict != Verdict::duplicate) continue;
    ++documents_;
    Metadata document, original;
    if (outcome.verdict != Verdict::duplicate ||
        !decode_metadata(decided.work.sign.documents[i].metadata, document).ok() ||
        !decode_metadata(outcome.original, original).ok()) {
      continue;
    }
    if (document.url.empty() || document.url != original.url || document.date_ms != original.date_ms ||
        document.source == original.source) {
      continue;
    }
    ++copies_;
    here = document.source;
    there = original.source;
  }
  if (documents_ < kDocuments) return {};
  done_ = true;
  if (copies_ * 10 <= documents_ * 9 || here.empty()) return {};
  return fmt::format(
      "{} of the first {} documents are copies of a document with the same URL and time in another topic ({} "
      "and {}): does kafka.topics name a topic with all documents and also topics with copies of them?",
      copies_, documents_, there, here);
}

}  // namespace doppel
