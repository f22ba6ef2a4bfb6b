#include "insight/sample_study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "insight/text_diff.h"

namespace doppel {
namespace {

constexpr int kFrom = 50;
constexpr int kTo = 95;
constexpr int kNarrowest = 3;  // narrower ones are noise

}  // namespace

Valley find_valley(std::span<const uint64_t> pairs) {
  std::array<double, kTo> smooth{};
  double sum = 0;
  double least = INFINITY;
  for (int i = kFrom; i < kTo; ++i) {
    smooth[i] = static_cast<double>(pairs[i - 1] + pairs[i] + pairs[i + 1]) / 3;
    sum += smooth[i];
    least = std::min(least, smooth[i]);
  }
  const double mean = sum / (kTo - kFrom);
  const double rare = std::max(least, mean / 5);
  int best_from = kFrom;
  int best_to = kFrom;
  for (int i = kFrom; i < kTo;) {
    int end = i;
    while (end < kTo && smooth[end] <= rare) ++end;
    if (end - i > best_to - best_from) {
      best_from = i;
      best_to = end;
    }
    i = end + 1;
  }
  Valley valley{.from = best_from / 100.0, .to = best_to / 100.0};
  valley.clear = best_to - best_from >= kNarrowest && rare <= mean / 3;
  const int middle = (best_from + best_to) / 2;
  valley.threshold = middle / 100.0;
  for (int i = best_from; i < best_to; ++i) valley.pairs_in_it += pairs[i];
  return valley;
}

namespace {

bool meets_in_a_band(const uint8_t* a, const uint8_t* b, Banding banding) {
  for (int band = 0; band < banding.bands; ++band) {
    if (std::memcmp(a, b, banding.rows) == 0) return true;
    a += banding.rows;
    b += banding.rows;
  }
  return false;
}

}  // namespace

SampleStudy::SampleStudy(const EngineOptions& options, uint64_t shingles_max, uint64_t steps_max)
    : options_(options),
      shingles_max_(shingles_max),
      steps_max_(steps_max),
      signer_(options.scheme),
      shingler_(options.scheme.key, options.scheme.shingle_words, options.scheme.normalisation) {}

void SampleStudy::add(std::string_view text, std::string_view scope, size_t metadata_bytes) {
  const size_t num_perm = options_.scheme.num_perm;
  slices_.resize((sizes_.size() + 1) * num_perm);
  signer_.sign(text, scope, signed_, slices_.data() + sizes_.size() * num_perm);
  if (signed_.content != Content::shingled) {
    ++(signed_.content == Content::empty ? without_text_ : too_short_);
    return;
  }
  shingles_.clear();
  shingler_.update(text, shingles_);
  shingler_.finish(shingles_);
  std::sort(shingles_.begin(), shingles_.end());
  shingles_.erase(std::unique(shingles_.begin(), shingles_.end()), shingles_.end());
  // Documents of different scopes share nothing.
  const uint64_t salt = scope.empty() ? 0 : options_.scheme.key.derive(scope);
  const auto number = static_cast<uint32_t>(sizes_.size());
  for (uint64_t shingle : shingles_) postings_.push_back({shingle ^ salt, number});
  sizes_.push_back(static_cast<uint32_t>(shingles_.size()));
  bytes_ += static_cast<double>(text.size());
  metadata_bytes_ += static_cast<double>(metadata_bytes);
  if (!signed_.set_left_out) {
    std::string coded;
    make_compact_set(signed_.tops, set_);
    encode_compact_set(set_, coded);
    set_bytes_ += static_cast<double>(coded.size());
  }
}

void SampleStudy::add_signed(const SignedDocument& document, const uint8_t* slices, size_t bytes) {
  if (document.content != Content::shingled) {
    ++(document.content == Content::empty ? without_text_ : too_short_);
    return;
  }
  CompactSet& set = sets_.emplace_back();
  // A set that was left out is empty: the document is compared by slices only.
  if (!decode_compact_set(document.coded_set, set).ok()) set = {};
  slices_.insert(slices_.end(), slices, slices + options_.scheme.num_perm);
  sizes_.push_back(static_cast<uint32_t>(set.values.size()));
  values_ += set.values.size();
  bytes_ += static_cast<double>(bytes);
  metadata_bytes_ += static_cast<double>(document.metadata.size());
  set_bytes_ += static_cast<double>(document.coded_set.size());
}

SampleStudy::Lists SampleStudy::build_lists() {
  std::sort(postings_.begin(), postings_.end());
  Lists lists;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> known;  // hash of the documents -> lists
  for (size_t i = 0; i < postings_.size();) {
    size_t end = i;
    uint64_t hash = 0;
    for (; end < postings_.size() && postings_[end].shingle == postings_[i].shingle; ++end) {
      hash = mix64(hash + postings_[end].document + 1);
    }
    if (end - i > 1) {
      std::vector<uint32_t>& same_hash = known[hash];
      auto equal = [&](uint32_t list) {
        const uint64_t from = lists.begin[list];
        const uint64_t to = list + 1 < lists.begin.size() ? lists.begin[list + 1] : lists.documents.size();
        return to - from == end - i &&
               std::equal(postings_.begin() + i, postings_.begin() + end, lists.documents.begin() + from,
                          [](const Posting& p, uint32_t document) { return p.document == document; });
      };
      auto found = std::find_if(same_hash.begin(), same_hash.end(), equal);
      if (found != same_hash.end()) {
        ++lists.weight[*found];
      } else {
        same_hash.push_back(static_cast<uint32_t>(lists.weight.size()));
        lists.begin.push_back(lists.documents.size());
        lists.weight.push_back(1);
        for (size_t p = i; p < end; ++p) lists.documents.push_back(postings_[p].document);
      }
    }
    i = end;
  }
  lists.begin.push_back(lists.documents.size());
  postings_ = {};
  return lists;
}

// Returns how many of the first documents can be compared within steps_max_. A list of n documents costs n^2
// / 2 steps.
uint64_t SampleStudy::documents_within(const Lists& lists) const {
  std::vector<uint64_t> steps(sizes_.size());  // steps[i]: added by document i
  for (size_t list = 0; list < lists.weight.size(); ++list) {
    uint64_t before = 0;
    for (uint64_t p = lists.begin[list]; p < lists.begin[list + 1]; ++p)
      steps[lists.documents[p]] += before++;
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    sum += steps[i];
    if (sum > steps_max_) return i;
  }
  return steps.size();
}

// The same for signed documents.
uint64_t SampleStudy::signed_documents_within() const {
  const auto most = static_cast<uint64_t>(std::sqrt(2.0 * static_cast<double>(steps_max_)));
  return std::min<uint64_t>(sizes_.size(), most);
}

void SampleStudy::judge(uint64_t i, std::span<const Other> others, StudyResult& out) {
  const size_t num_perm = options_.scheme.num_perm;
  const uint8_t* mine = slices_.data() + i * num_perm;
  bool duplicate = false;
  std::array<bool, kStudyThresholds.size()> duplicate_at{};
  for (const auto& [j, overlap] : others) {
    const uint32_t ppm = similarity_ppm(overlap);
    ++out.pairs[std::min<uint32_t>(ppm / 10'000, 99)];
    const uint8_t* theirs = slices_.data() + j * num_perm;
    const bool similar = reaches(overlap, options_.rule.threshold_ppm);
    const bool met = meets_in_a_band(mine, theirs, options_.rule.banding);
    bool candidate = false;
    if (met || ppm >= 300'000) {
      const int equal = equal_slices(mine, theirs, static_cast<int>(num_perm));
      candidate = met && equal >= options_.rule.min_equal;
      if (ppm >= 300'000) {
        const Overlap estimate = overlap_from_slices(equal, static_cast<int>(num_perm));
        const double error = (static_cast<double>(similarity_ppm(estimate)) - ppm) / 1e6;
        squared_error_ += error * error;
        ++out.estimates;
      }
    }
    out.pairs_similar += similar ? 1 : 0;
    out.pairs_found += similar && candidate ? 1 : 0;
    if (original_[j]) {
      out.met += met ? 1 : 0;
      out.candidates += candidate ? 1 : 0;
      out.candidates_false += candidate && !similar ? 1 : 0;
      duplicate |= candidate && similar;
    }
    for (size_t t = 0; t < kStudyThresholds.size() && ppm >= 500'000; ++t) {
      const bool reached = reaches(overlap, static_cast<uint32_t>(std::lround(kStudyThresholds[t] * 1e6)));
      out.thresholds[t].pairs += reached ? 1 : 0;
      duplicate_at[t] = duplicate_at[t] || (reached && original_at_[t][j]);
    }
  }
  original_[i] = !duplicate;
  out.originals += duplicate ? 0 : 1;
  for (size_t t = 0; t < kStudyThresholds.size(); ++t) {
    original_at_[t][i] = !duplicate_at[t];
    out.thresholds[t].duplicates += duplicate_at[t] ? 1 : 0;
  }
}

void SampleStudy::compare_signed(StudyResult& out, const std::function<void(uint64_t, uint64_t)>& progress) {
  const auto num_perm = static_cast<size_t>(options_.scheme.num_perm);
  // Unrelated documents have one slice in 256 equal; at a similarity of .1 about a tenth are.
  const int some = static_cast<int>(num_perm / 16);
  out.documents = signed_documents_within();
  std::vector<Other> others;
  for (uint64_t i = 0; i < out.documents; ++i) {
    const uint8_t* mine = slices_.data() + i * num_perm;
    others.clear();
    for (uint32_t j = 0; j < i; ++j) {
      const int equal = equal_slices(mine, slices_.data() + j * num_perm, static_cast<int>(num_perm));
      if (equal < some) continue;
      const bool sets = sizes_[i] != 0 && sizes_[j] != 0;
      others.push_back(
          {j, sets ? overlap(sets_[i], sets_[j]) : overlap_from_slices(equal, static_cast<int>(num_perm))});
    }
    judge(i, others, out);
    if (i % 256 == 0) progress(i, out.documents);
  }
}

void SampleStudy::compare_texts(StudyResult& out, const std::function<void(uint64_t, uint64_t)>& progress) {
  const uint64_t added = sizes_.size();
  Lists lists = build_lists();
  out.documents = documents_within(lists);

  // First collects the lists of each document. Then documents are added to the lists one by one, so that each
  // is compared with earlier ones only.
  std::vector<uint64_t> lists_of(added + 1);
  for (uint32_t document : lists.documents) ++lists_of[document + 1];
  for (size_t i = 0; i < added; ++i) lists_of[i + 1] += lists_of[i];
  std::vector<uint32_t> list_numbers(lists.documents.size());
  std::vector<uint64_t> place(lists_of.begin(), lists_of.end() - 1);
  for (uint32_t list = 0; list < lists.weight.size(); ++list) {
    for (uint64_t p = lists.begin[list]; p < lists.begin[list + 1]; ++p) {
      list_numbers[place[lists.documents[p]]++] = list;
    }
  }
  std::vector<uint32_t> filled(lists.weight.size());
  std::vector<uint32_t> shared(added);
  std::vector<uint32_t> sharing;
  std::vector<Other> others;
  for (uint64_t i = 0; i < out.documents; ++i) {
    sharing.clear();
    for (uint64_t p = lists_of[i]; p < lists_of[i + 1]; ++p) {
      const uint32_t list = list_numbers[p];
      const uint32_t* earlier = lists.documents.data() + lists.begin[list];
      for (uint32_t k = 0; k < filled[list]; ++k) {
        if (shared[earlier[k]] == 0) sharing.push_back(earlier[k]);
        shared[earlier[k]] += lists.weight[list];
      }
      ++filled[list];
    }
    others.clear();
    for (const uint32_t j : sharing) {
      others.push_back({j, {shared[j], uint64_t{sizes_[i]} + sizes_[j] - shared[j]}});
      shared[j] = 0;
    }
    judge(i, others, out);
    if (i % 256 == 0) progress(i, out.documents);
  }
}

StudyResult SampleStudy::finish(const std::function<void(uint64_t, uint64_t)>& progress) {
  const uint64_t added = sizes_.size();
  StudyResult out;
  out.pairs.resize(100);
  for (double t : kStudyThresholds) out.thresholds.push_back({.threshold = t});
  original_.assign(added, false);
  for (auto& original : original_at_) original.assign(added, false);
  sets_.empty() ? compare_texts(out, progress) : compare_signed(out, progress);
  out.left_out = added - out.documents;
  if (out.estimates > 0) out.estimate_rmse = std::sqrt(squared_error_ / static_cast<double>(out.estimates));
  if (added > 0) {
    const auto n = static_cast<double>(added);
    double all = 0;
    for (uint32_t size : sizes_) all += size;
    out.shingles = all / n;
    out.bytes = bytes_ / n;
    out.set_bytes = set_bytes_ / n;
    out.metadata_bytes = metadata_bytes_ / n;
  }
  out.valley = find_valley(out.pairs);
  return out;
}

namespace {

constexpr size_t kBatch = 256;
constexpr size_t kExamples = 3;  // of each relation

EngineOptions with_relations(EngineOptions options) {
  options.rule.relations = relations_to_explain(options);
  options.rule.relations.partial_duplicate = false;
  options.rule.relations.similar_ppm = 0;
  options.rule.verify = Verify::exact;
  options.rule.expire_after_ms = 0;
  options.rule.max_documents = options.rule.max_memory = 0;
  options.scheme.passage = options.rule.relations.passage;
  return options;
}

}  // namespace

SampleRelations::SampleRelations(const EngineOptions& options)
    : options_(with_relations(options)),
      bodies_(memory_bodies()),
      engine_(options_, *bodies_),
      signer_(engine_.make_signer()) {
  work_.resize(kBatch, options_);
  out_.rule = options_.rule.relations;
}

absl::Status SampleRelations::add(std::string_view text, std::string_view scope, std::string_view name) {
  SignedDocument& document = work_.sign.documents[waiting_];
  document = {};
  signer_.sign(text, scope, document,
               work_.sign.slices.data() + waiting_ * static_cast<size_t>(options_.scheme.num_perm));
  document.metadata = name;
  return ++waiting_ == kBatch ? judge() : absl::OkStatus();
}

absl::Status SampleRelations::judge() {
  work_.resize(waiting_, options_);
  MatchCounters counters;
  RETURN_IF_ERROR(engine_.match(work_, 0, waiting_, counters));
  RETURN_IF_ERROR(engine_.resolve(work_));
  for (size_t i = 0; i < waiting_; ++i) {
    const Outcome& outcome = work_.resolved.outcomes[i];
    ++out_.documents;
    out_.near += outcome.verdict == Verdict::duplicate ? 1 : 0;
    if (const std::optional<Relation> strongest = strongest_relation(outcome)) {
      ++out_.unique[static_cast<size_t>(*strongest)];
      add_example(outcome, work_.sign.documents[i].metadata);
    }
  }
  waiting_ = 0;
  work_.resize(kBatch, options_);
  return absl::OkStatus();
}

void SampleRelations::add_example(const Outcome& outcome, const std::string& name) {
  const Relation strongest = *strongest_relation(outcome);
  const auto related = std::find_if(outcome.related.begin(), outcome.related.end(),
                                    [&](const Related& r) { return r.relation == strongest; });
  const auto more = [](const SampleParts::Example& a, const SampleParts::Example& b) {
    return a.relation != b.relation ? a.relation < b.relation : a.shared > b.shared;
  };
  const SampleParts::Example example{
      .relation = strongest,
      .document = name,
      .original = related->original,
      .shared = related->shared,
      .of_document_ppm = similarity_ppm({related->shared, related->of_document}),
      .of_original_ppm = similarity_ppm({related->shared, related->of_original})};
  const auto place = std::upper_bound(out_.examples.begin(), out_.examples.end(), example, more);
  out_.examples.insert(place, example);
  const auto same = [&](const SampleParts::Example& e) { return e.relation == strongest; };
  if (std::count_if(out_.examples.begin(), out_.examples.end(), same) <= static_cast<ptrdiff_t>(kExamples))
    return;
  const auto last = std::find_if(out_.examples.rbegin(), out_.examples.rend(), same);
  out_.examples.erase(std::next(last).base());
}

absl::StatusOr<SampleParts> SampleRelations::finish() {
  if (waiting_ != 0) RETURN_IF_ERROR(judge());
  return out_;
}

namespace {

constexpr size_t kLongEnough = 5;  // bytes; shorter words resemble others by chance
constexpr uint32_t kFrequent = 10;
constexpr uint32_t kRare = 2;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; }
bool in_word(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Calls visit(with byte `at` replaced) for each place of a word.
template <typename Visit>
void each_masked(std::string word, Visit visit) {
  for (char& c : word) {
    const char before = c;
    c = '\0';
    visit(word);
    c = before;
  }
}

}  // namespace

void SampleKindCounter::add(std::string_view text, bool page) {
  pages_ += page ? 1 : 0;
  uint32_t words = 0;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    ++words;
    if (word.size() >= kLongEnough && (counts_.size() < words_max_ || counts_.contains(word)))
      ++counts_[word];
    word.clear();
  };
  for (const char character : text) {
    const char c = lower(character);
    if (in_word(c)) {
      word += c;
    } else {
      end_word();
    }
  }
  end_word();
  sizes_.push_back(words);
}

double SampleKindCounter::misread() const {
  // Numbers differ by a digit because they are different numbers: only frequent words of letters count.
  absl::flat_hash_set<std::string> frequent;  // with one byte masked
  uint64_t all = 0, resembling = 0;
  for (const auto& [word, count] : counts_) {
    all += count;
    if (count >= kFrequent && std::all_of(word.begin(), word.end(), is_letter))
      each_masked(word, [&](const std::string& masked) { frequent.insert(masked); });
  }
  for (const auto& [word, count] : counts_) {
    if (count > kRare) continue;
    bool found = false;
    each_masked(word, [&](const std::string& masked) { found = found || frequent.contains(masked); });
    resembling += found ? count : 0;
  }
  return all == 0 ? 0 : static_cast<double>(resembling) / static_cast<double>(all);
}

SampleKind SampleKindCounter::finish() const {
  SampleKind out{.documents = sizes_.size(), .misread = misread()};
  if (sizes_.empty()) return out;
  std::vector<uint32_t> sizes = sizes_;
  const auto middle = sizes.begin() + static_cast<ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  out.words = *middle;
  out.pages = static_cast<double>(pages_) / static_cast<double>(sizes_.size());
  return out;
}

}  // namespace doppel
