#include "oracle/oracle.h"

#include <algorithm>

#include "oracle/words.h"

namespace doppel::oracle {

const char* kind_name(Kind kind) {
  constexpr const char* kNames[] = {"unique", "exact", "near", "unscored"};
  return kNames[static_cast<int>(kind)];
}

// Returns the set of a document's word n-grams as ascending numbers: equal numbers are equal n-grams.
std::vector<uint32_t> Oracle::shingles_of(std::string_view text) {
  std::vector<uint32_t> ids;
  for (const std::string& word : words(text)) {
    ids.push_back(words_.try_emplace(word, static_cast<uint32_t>(words_.size()) + 1).first->second);
  }
  std::vector<uint32_t> set;
  for (size_t i = 0; i + options_.shingle_words <= ids.size(); ++i) {
    Shingle shingle{};
    std::copy_n(&ids[i], options_.shingle_words, shingle.begin());
    set.push_back(shingles_.try_emplace(shingle, static_cast<uint32_t>(shingles_.size())).first->second);
  }
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  holders_.resize(shingles_.size());
  return set;
}

Answer Oracle::judge(const Input& document, const std::vector<uint32_t>& shingles, const Said* said) {
  Answer answer;
  answer.number = next_++;
  if (document.text.empty()) {
    answer.kind = Kind::unscored;
    return answer;
  }
  auto meets = [&](const Original& r) { return r.live && r.scope == document.scope; };
  constexpr Number kNone = ~Number{0};
  const Number named = said == nullptr ? kNone : said->duplicate_of.value_or(kNone);

  // Finds every original that shares a shingle, and how many it shares.
  std::vector<uint32_t> sharing;
  common_.resize(originals_.size());
  for (uint32_t shingle : shingles) {
    for (uint32_t place : holders_[shingle]) {
      if (common_[place]++ == 0) sharing.push_back(place);
    }
  }
  std::sort(sharing.begin(), sharing.end());
  for (uint32_t place : sharing) {
    const Original& r = originals_[place];
    Ratio similarity{common_[place], shingles.size() + r.shingles - common_[place]};
    common_[place] = 0;
    if (!meets(r)) continue;
    if (named == r.number) answer.named_similarity = similarity;
    if (similarity.exceeds(answer.best_similarity)) {  // not by the later of two equal ones
      answer.best = r.number;
      answer.best_similarity = similarity;
    }
  }
  if (answer.best_similarity.reaches(options_.threshold_ppm)) {
    answer.kind = Kind::near;
    answer.original = answer.best;
    answer.similarity = answer.best_similarity;
  }

  // An equal text decides, whatever the numbers.
  auto same = by_text_.find(std::string(document.text));
  if (same == by_text_.end()) return answer;
  for (uint32_t place : same->second) {
    const Original& r = originals_[place];
    if (!meets(r)) continue;
    if (named == r.number) answer.named_same_text = true;
    if (answer.kind == Kind::exact) continue;
    answer.kind = Kind::exact;
    answer.original = r.number;
    answer.similarity = {1, 1};
  }
  return answer;
}

void Oracle::add(const Input& document, Number number, const std::vector<uint32_t>& shingles) {
  auto place = static_cast<uint32_t>(originals_.size());
  Original& r = originals_.emplace_back();
  r.number = number;
  r.text = document.text;
  r.scope = document.scope;
  r.shingles = shingles.size();
  // A time counts as no later than the watermark; without a watermark it does not count.
  if (document.timestamp_ms && latest_.size() >= options_.watermark_rank) {
    r.time_ms = std::min(*document.timestamp_ms, latest_.top());
  }
  by_text_[r.text].push_back(place);
  for (uint32_t shingle : shingles) holders_[shingle].push_back(place);
}

// Expiry comes before the document that moves the watermark. A generation of consecutive originals expires
// when its youngest member is too old (one without any time: together with the next one that has a time).
// Generations expire in order, and never the one that is still growing.
void Oracle::take_time(const Input& document) {
  if (options_.expire_after_ms == 0) return;
  if (document.timestamp_ms) latest_.push(*document.timestamp_ms);
  if (latest_.size() > options_.watermark_rank) latest_.pop();
  if (latest_.size() < options_.watermark_rank) return;
  const int64_t oldest = latest_.top() - options_.expire_after_ms;
  // After expire_below(), first_live_ may be inside a generation.
  size_t end = (first_live_ / options_.generation + 1) * options_.generation;
  for (; end < originals_.size(); end += options_.generation) {
    std::optional<int64_t> youngest;
    for (size_t place = end - options_.generation; place < end; ++place) {
      youngest = std::max(youngest, originals_[place].time_ms);
    }
    if (!youngest) continue;
    if (*youngest >= oldest) return;
    while (first_live_ < end) originals_[first_live_++].live = false;
  }
}

Answer Oracle::feed(const Input& document) {
  take_time(document);
  std::vector<uint32_t> shingles = shingles_of(document.text);
  Answer answer = judge(document, shingles, nullptr);
  if (answer.kind == Kind::unique) add(document, answer.number, shingles);
  return answer;
}

Answer Oracle::feed(const Input& document, const Said& said) {
  take_time(document);
  std::vector<uint32_t> shingles = shingles_of(document.text);
  Answer answer = judge(document, shingles, &said);
  if (said.original) add(document, answer.number, shingles);
  return answer;
}

const Oracle::Original* Oracle::find(Number number) const {
  auto at = std::lower_bound(originals_.begin(), originals_.end(), number,
                             [](const Original& r, Number n) { return r.number < n; });
  return at == originals_.end() || at->number != number ? nullptr : &*at;
}

bool Oracle::remove(Number original) {
  const Original* r = find(original);
  if (r == nullptr || !r->live) return false;
  originals_[static_cast<size_t>(r - originals_.data())].live = false;
  return true;
}

void Oracle::expire_below(Number number) {
  for (; first_live_ < originals_.size() && originals_[first_live_].number < number; ++first_live_) {
    originals_[first_live_].live = false;
  }
}

bool Oracle::live(Number number) const {
  const Original* r = find(number);
  return r != nullptr && r->live;
}

std::vector<Number> Oracle::live_originals() const {
  std::vector<Number> numbers;
  for (const Original& r : originals_) {
    if (r.live) numbers.push_back(r.number);
  }
  return numbers;
}

}  // namespace doppel::oracle
