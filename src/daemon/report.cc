#include "daemon/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "records/metadata.h"

namespace doppel {
namespace {

constexpr double kEverySeconds = 10;
constexpr uint64_t kComplaints = 10;

// Formats the counts as "status:3 type:1".
std::string by_reason(const std::map<std::string, uint64_t>& counts) {
  std::string out;
  for (const auto& [reason, count] : counts) {
    if (!out.empty()) out += ' ';
    out += reason + ':' + std::to_string(count);
  }
  return out;
}

}  // namespace

void Report::progress(const Counters& now) {
  const Clock::time_point time = Clock::now();
  const double seconds = std::chrono::duration<double>(time - logged_).count();
  if (seconds < kEverySeconds) return;
  logged_ = time;
  if (complaints_ > kComplaints) {
    log::warn("more records or files could not be read", {{"messages_left_out", complaints_ - kComplaints}});
  }
  complaints_ = 0;
  if (now.records == before_.records) return;
  log::info("progress", {{"documents", now.records},
                         {"per_second", static_cast<uint64_t>((now.records - before_.records) / seconds)},
                         {"unique", now.unique},
                         {"duplicates", now.duplicates()},
                         {"rejected", now.rejected},
                         {"skipped", now.skipped},
                         {"skipped_by", by_reason(now.skipped_by)},
                         {"unscored", now.unscored},
                         {"unscored_by", by_reason(now.unscored_by)},
                         {"originals", index_.stats().live}});
  before_ = now;
}

void Report::complain(std::string_view message) {
  if (++complaints_ <= kComplaints) log::warn(message);
}

void Report::end(const Counters& counters) const {
  log::info("stopped", {{"documents", counters.records},
                        {"unique", counters.unique},
                        {"duplicates", counters.duplicates()},
                        {"rejected", counters.rejected},
                        {"skipped", counters.skipped},
                        {"skipped_by", by_reason(counters.skipped_by)},
                        {"unscored", counters.unscored},
                        {"unscored_by", by_reason(counters.unscored_by)},
                        {"problems", counters.problems},
                        {"seconds", std::chrono::duration<double>(Clock::now() - start_).count()}});
}

void report_fetches(const FetchCounts& counts) {
  log::info("fetched", {{"ok", counts.of(FetchResult::ok)},
                        {"missing", counts.of(FetchResult::missing)},
                        {"refused", counts.of(FetchResult::refused)},
                        {"damaged", counts.of(FetchResult::damaged)},
                        {"mismatch", counts.of(FetchResult::mismatch)},
                        {"timed_out", counts.of(FetchResult::timed_out)},
                        {"retries", counts.retries},
                        {"bytes", counts.bytes}});
}

std::string OverlappingTopics::observe(const Decided& decided) {
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
