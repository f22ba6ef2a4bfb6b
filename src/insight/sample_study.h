#pragma once
// Measures a rule on the user's own documents: the exact similarities of all pairs, and what bands, prefilter
// and estimates make of them.
//
// All pairs come from an inverted index from shingle to documents. Shingles that occur in exactly the same
// documents (a menu on every page, the text of a whole cluster) share one weighted list, so that duplicates
// and boilerplate, which a sample is full of, cost one step instead of hundreds. Pairs without a common
// shingle have similarity 0 and are skipped. Documents signed elsewhere have no shingles. Their pairs are
// compared by slices, and by their sets if the slices suggest a similarity (almost always if it is .1 or
// more).

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/engine.h"

namespace doppel {

// The threshold that fits a sample: where pairs are rarest, few verdicts depend on its exact value.
struct Valley {
  bool clear = false;        // false: similarities are spread too evenly for a clear choice
  double from = 0, to = 0;   // the widest range between .50 and .95 where pairs are rare
  double threshold = 0;      // middle of the range
  uint64_t pairs_in_it = 0;  // from <= similarity < to
};

// `pairs` counts pairs by similarity in 100 steps of .01.
//
// Counts are averaged over three steps. A step is rare if it holds at most a fifth of the mean between .50
// and .95; if no step does, only the rarest is. A range is not a valley if it has fewer than three steps, or
// if its steps may hold more than a third of the mean.
Valley find_valley(std::span<const uint64_t> pairs);

inline constexpr std::array<double, 10> kStudyThresholds{.5, .55, .6, .65, .7, .75, .8, .85, .9, .95};

struct StudyResult {
  uint64_t documents = 0;  // number of documents compared with each other
  uint64_t left_out = 0;   // added but not compared, because that would take too many steps
  double bytes = 0, shingles = 0, set_bytes = 0, metadata_bytes = 0;  // of an average document

  std::vector<uint64_t> pairs;  // by similarity, in 100 steps of .01; the last one includes 1
  uint64_t pairs_similar = 0;   // at or above the threshold
  uint64_t pairs_found = 0;     // of these, pairs that share a band and pass the prefilter
  uint64_t originals = 0;       // by the rule, in the order of the sample
  uint64_t candidates = 0;  // pairs of a document and an original that share a band and pass the prefilter
  uint64_t candidates_false = 0;  // of these, pairs below the threshold
  uint64_t met = 0;               // pairs of a document and an original that share a band
  uint64_t estimates = 0;         // pairs of similarity .3 and more
  double estimate_rmse = 0;       // error of the estimate from slices on these
  Valley valley;

  struct AtThreshold {
    double threshold = 0;
    uint64_t pairs = 0;
    uint64_t duplicates = 0;  // if every similar pair is found
  };
  std::vector<AtThreshold> thresholds;
};

class SampleStudy {
 public:
  // Keeps at most `shingles_max` shingles (16 bytes each) and takes at most `steps_max` steps.
  explicit SampleStudy(const EngineOptions& options, uint64_t shingles_max = 30'000'000,
                       uint64_t steps_max = 2'000'000'000);

  // Adds a document to the sample. Documents that are too short are only counted.
  void add(std::string_view text, std::string_view scope, size_t metadata_bytes);
  // Adds a document that was signed elsewhere. Do not mix both kinds in a sample.
  void add_signed(const SignedDocument& document, const uint8_t* slices, size_t bytes);
  bool full() const { return postings_.size() >= shingles_max_ || values_ >= shingles_max_; }
  uint64_t documents() const { return sizes_.size(); }
  uint64_t without_text() const { return without_text_; }
  uint64_t too_short() const { return too_short_; }

  // Calls progress(done, of) from time to time.
  StudyResult finish(const std::function<void(uint64_t, uint64_t)>& progress);

 private:
  struct Posting {
    uint64_t shingle;
    uint32_t document;
    auto operator<=>(const Posting&) const = default;
  };
  struct Lists {
    std::vector<uint64_t> begin;      // start of each list in `documents`, and the end
    std::vector<uint32_t> documents;  // ascending in each list
    std::vector<uint32_t> weight;     // number of shingles that each list stands for
  };
  Lists build_lists();
  uint64_t documents_within(const Lists& lists) const;
  uint64_t signed_documents_within() const;
  struct Other {
    uint32_t document;
    Overlap overlap;
  };
  void compare_texts(StudyResult& out, const std::function<void(uint64_t, uint64_t)>& progress);
  void compare_signed(StudyResult& out, const std::function<void(uint64_t, uint64_t)>& progress);
  void judge(uint64_t i, std::span<const Other> others, StudyResult& out);

  EngineOptions options_;
  uint64_t shingles_max_, steps_max_;
  Signer signer_;
  Shingler shingler_;
  SignedDocument signed_;
  PodVector<uint64_t> shingles_;
  CompactSet set_;
  std::vector<Posting> postings_;
  std::vector<uint32_t> sizes_;  // distinct shingles of each document
  std::vector<uint8_t> slices_;
  std::vector<CompactSet> sets_;  // of documents signed elsewhere
  uint64_t values_ = 0;           // values in sets_
  uint64_t without_text_ = 0, too_short_ = 0;
  double bytes_ = 0, set_bytes_ = 0, metadata_bytes_ = 0;
  std::vector<bool> original_;                                          // under the rule
  std::array<std::vector<bool>, kStudyThresholds.size()> original_at_;  // under other thresholds
  double squared_error_ = 0;
};

// Finds the documents of a sample that are parts of others, or share a passage. An index in memory judges
// them.
struct SampleParts {
  struct Example {
    Relation relation = Relation::shares;
    std::string document, original;  // their names
    uint64_t shared = 0;             // shingles
    uint32_t of_document_ppm = 0, of_original_ppm = 0;
  };
  RelationRule rule;
  uint64_t documents = 0, near = 0;  // near: includes equal texts
  std::array<uint64_t, 3> unique{};  // unique documents by their strongest relation; without similar
  std::vector<Example> examples;     // for each relation, the ones that share most, then the earliest
};

class SampleRelations {
 public:
  // Uses the relations of the settings; if the settings name only `near`: all relations, with their defaults.
  explicit SampleRelations(const EngineOptions& options);
  absl::Status add(std::string_view text, std::string_view scope, std::string_view name);
  absl::StatusOr<SampleParts> finish();

 private:
  absl::Status judge();
  void add_example(const Outcome& outcome, const std::string& name);

  EngineOptions options_;
  std::unique_ptr<Bodies> bodies_;
  Engine engine_;
  Signer signer_;
  Work work_;
  size_t waiting_ = 0;  // documents of work_
  SampleParts out_;
};

// What kind of documents a sample holds, as far as settings depend on it: short texts, pages, scanned texts.
struct SampleKind {
  uint64_t documents = 0;
  uint64_t words = 0;  // of the document in the middle, by its number of words
  double pages = 0;    // share of documents
  // Share of words that are rare and differ by one letter from a frequent word. Scanning misreads letters;
  // people write few such words.
  double misread = 0;
};

class SampleKindCounter {
 public:
  // Counts at most so many distinct words; further ones are left out.
  explicit SampleKindCounter(size_t words_max = 1'000'000) : words_max_(words_max) {}
  void add(std::string_view text, bool page);
  SampleKind finish() const;

 private:
  double misread() const;

  const size_t words_max_;
  uint64_t pages_ = 0;
  std::vector<uint32_t> sizes_;  // words of each document
  absl::flat_hash_map<std::string, uint32_t> counts_;
};

}  // namespace doppel
