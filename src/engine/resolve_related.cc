// RESOLVE for relations: what a document shares with originals apart from common passages.

#include <algorithm>

#include "base/check.h"
#include "base/status.h"
#include "engine/resolve.h"

namespace doppel {
namespace {

void add_passages(const RelationRule& rule, std::span<const ShingleRun> runs, std::vector<WordRange>& out) {
  for (const ShingleRun& run : runs)
    if (run.size() >= rule.passage) out.push_back({run.begin, run.end + rule.shingle_words - 1});
}

void join_overlapping(std::vector<WordRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](WordRange a, WordRange b) { return a.begin < b.begin; });
  size_t last = 0;  // the range that the next one may overlap
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin <= ranges[last].end) {
      ranges[last].end = std::max(ranges[last].end, ranges[i].end);
    } else {
      ranges[++last] = ranges[i];
    }
  }
  if (!ranges.empty()) ranges.resize(last + 1);
}

}  // namespace

absl::Status Resolver::find_related(size_t i, Outcome& outcome) {
  print_listed_.clear();
  if (!rule_.relations.on() || document(i).prints.empty()) return absl::OkStatus();
  // The first answer may count dead originals as live. The second may not have compared the originals that
  // come first once all counts are known.
  constexpr int kTimesMost = 2;
  for (int times = 0;; ++times) {
    ASSIGN_OR_RETURN(const bool known, weigh_related(i, times, times == kTimesMost, outcome));
    if (known) return absl::OkStatus();
    RETURN_IF_ERROR(ask_again(i));
    collect(i);  // the owners cover more now, and the window less
  }
}

// Returns false if an answer lacks something. RESOLVE has repeated the request `asked` times; if `last`, it
// will not repeat it.
absl::StatusOr<bool> Resolver::weigh_related(size_t i, int asked, bool last, Outcome& outcome) {
  if (!collect_related(i, asked, last)) return false;
  ASSIGN_OR_RETURN(const bool known, compare_related(i, last, outcome));
  if (known && rule_.relations.partial_duplicate) repeat_container(outcome);
  return known;
}

// Counts how many live originals list each print, and collects the originals that may be related, in the
// order of comparison. Returns false if an answer lacks something.
bool Resolver::collect_related(size_t i, int asked, bool last) {
  const RelationRule& rule = rule_.relations;
  const std::span<const Print> prints = document(i).prints;
  const std::span<const Answer> answers = work_->answers.of(i);
  print_listed_.assign(distinct_prints(prints), 0);
  print_hits_.clear();
  maybe_related_.clear();
  bool stale = false;
  for (const Answer& answer : answers) {
    hint_.anyway |= answer.relatives_left_out;
    stale |= window_.died_since(answer.as_of);
    for (const PrintCount& count : answer.print_counts)
      // otherwise damaged
      if (count.number < print_listed_.size()) print_listed_[count.number] += count.listed;
  }
  window_.find_prints(prints, answers, [&](uint32_t number, const Newcomers::Entry& entry) {
    ++print_listed_[number];
    print_hits_.emplace_back(&entry, number);
  });
  any_listed_ = !print_hits_.empty() || std::any_of(answers.begin(), answers.end(), [](const Answer& answer) {
    return !answer.print_counts.empty();
  });
  if (!any_listed_ && !hint_.anyway) return true;
  hint_.common.assign(print_listed_.size(), 0);
  bool frequent = false;  // whether one listing less could make a difference
  for (const Print& print : prints) {
    const uint32_t listed = print_listed_[print.number];
    hint_.common[print.number] = listed >= rule.common_after ? 1 : 0;
    frequent |= listed >= std::min(kFrequentFrom, rule.common_after);
  }
  if (asked == 0 && (hint_.anyway || (stale && frequent))) {
    hint_.common.clear();  // computed from stale counts
    return false;
  }

  const size_t shingles = document(i).tops.size();
  const auto consider = [&](Seq seq, size_t hits, uint32_t listed, const Relative* answered) {
    if (promising(rule, hits, shingles, listed)) maybe_related_.push_back({seq, hits, answered});
  };
  for (const Answer& answer : answers) {
    for (const Relative& relative : answer.relatives) {
      if (window_.dead(relative.seq)) continue;
      const auto hits = std::count_if(relative.hits.begin(), relative.hits.end(),
                                      [&](uint32_t number) { return !hint_.is_common(number); });
      consider(relative.seq, static_cast<size_t>(hits), relative.prints, &relative);
    }
  }
  std::sort(print_hits_.begin(), print_hits_.end(), [](const auto& a, const auto& b) {
    return a.first->seq != b.first->seq ? a.first->seq < b.first->seq : a.second < b.second;
  });
  for (size_t first = 0; first < print_hits_.size();) {
    const Newcomers::Entry& entry = *print_hits_[first].first;
    size_t hits = 0;
    for (; first < print_hits_.size() && print_hits_[first].first == &entry; ++first)
      hits += hint_.is_common(print_hits_[first].second) ? 0 : 1;
    consider(entry.seq, hits,
             static_cast<uint32_t>(std::min(entry.prints_end - entry.prints_begin, kPrintsCounted)), nullptr);
  }
  std::sort(maybe_related_.begin(), maybe_related_.end(), [](const MaybeRelated& a, const MaybeRelated& b) {
    return a.hits != b.hits ? a.hits > b.hits : a.seq < b.seq;
  });
  if (maybe_related_.size() > static_cast<size_t>(rule_.max_checks))
    maybe_related_.resize(static_cast<size_t>(rule_.max_checks));
  return last || std::all_of(maybe_related_.begin(), maybe_related_.end(), [](const MaybeRelated& each) {
           return each.answered == nullptr || each.answered->compared;
         });
}

absl::StatusOr<bool> Resolver::compare_related(size_t i, bool last, Outcome& outcome) {
  const RelationRule& rule = rule_.relations;
  outcome.related.clear();
  outcome.related_more = 0;
  outcome.repeated.clear();
  if (maybe_related_.empty()) return true;
  RETURN_IF_ERROR(work_->sets[i].make(document(i)));
  map_.start(rule, document(i).tops, document(i).prints, work_->sets[i].set, work_->sets[i].cell_sizes);
  std::optional<Common> common;
  Relative compared;
  for (const MaybeRelated& each : maybe_related_) {
    const Relative* relative = each.answered;
    if (relative == nullptr) {
      const Newcomers::Entry* newcomer = window_.at(each.seq);
      RETURN_IF_ERROR(newcomer->set->make(*newcomer->document));
      compared.seq = each.seq;
      map_.compare(newcomer->set->set, compared);
      relative = &compared;
    } else if (!relative->compared) {
      continue;
    }
    if (relative->cells.empty()) continue;
    if (!common.has_value()) common = find_common(rule, document(i).prints, print_listed_);
    std::optional<Related> related = relate(rule, map_, *common, *relative);
    if (!related.has_value()) continue;
    const std::optional<std::string_view> original = about(i, related->seq);
    if (!original.has_value() && !last) return false;
    related->original = original.value_or("");
    outcome.related.push_back(std::move(*related));
    if (rule.cut) add_passages(rule, without(rule, common->ranges, relative->runs), outcome.repeated);
  }
  join_overlapping(outcome.repeated);
  std::sort(outcome.related.begin(), outcome.related.end(), [](const Related& a, const Related& b) {
    return a.shared != b.shared ? a.shared > b.shared : a.seq < b.seq;
  });
  if (outcome.related.size() > rule.max_related) {
    outcome.related_more = static_cast<uint32_t>(outcome.related.size() - rule.max_related);
    outcome.related.resize(rule.max_related);
  }
  return true;
}

// If originals contain the document, it is a duplicate of the first one, which has most of it.
void Resolver::repeat_container(Outcome& outcome) const {
  const auto first = std::find_if(outcome.related.begin(), outcome.related.end(), [](const Related& related) {
    return related.relation == Relation::contained;
  });
  if (first == outcome.related.end()) return;
  Related original = std::move(*first);
  outcome.related.clear();
  outcome.related_more = 0;
  outcome.repeated.clear();
  outcome.related.push_back(std::move(original));
  const Related& only = outcome.related.front();
  outcome.verdict = Verdict::duplicate;
  outcome.kind = Kind::contained;
  outcome.similarity = {only.shared, only.of_document};
  outcome.seq = only.seq;
  outcome.original = only.original;
}

// Returns the prints that the new original lists: of those to be listed, the ones whose list has room.
std::span<const uint64_t> Resolver::listed_prints(size_t i) {
  prints_.clear();
  if (print_listed_.empty()) return prints_;
  const std::span<const Print> prints = document(i).prints;
  if (!any_listed_) {
    uint32_t next = 0;
    for (const Print& print : prints) {
      if (print.number != next) continue;
      ++next;
      if (print.stored) prints_.push_back(print.key);
    }
    return prints_;
  }
  const std::vector<uint8_t> frequent = frequent_prints(rule_.relations, prints, print_listed_);
  entered_.assign(print_listed_.size(), 0);
  for (size_t p = 0; p < prints.size(); ++p) {
    const Print& print = prints[p];
    if ((print.stored == 0 && frequent[p] == 0) || entered_[print.number] != 0) continue;
    entered_[print.number] = 1;
    if (print_listed_[print.number] < static_cast<uint32_t>(rule_.max_listed)) {
      prints_.push_back(print.key);
    } else {
      ++out_->prints_capped;
    }
  }
  return prints_;
}

}  // namespace doppel
