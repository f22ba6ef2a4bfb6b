#pragma once
// A rule, measured on documents of the user's own: exact similarities of all pairs, and what bands, prefilter
// and estimates make of them.
//
// All pairs: an inverted index from shingle to documents. Shingles that occur in exactly the same documents
// (a menu on every page, the text of a whole cluster) are counted together as one list with a weight, so
// that copies and boilerplate, which are what a sample is full of, cost one step instead of hundreds. Pairs
// that share no shingle have similarity 0 and are not looked at. Documents that were signed elsewhere have no
// shingles: of them all pairs are compared by slices, and by their sets where slices say that they share
// something (a similarity of .1 and more, as good as always).

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "insight/valley.h"

namespace doppel {

inline constexpr std::array<double, 10> kStudyThresholds{.5, .55, .6, .65, .7, .75, .8, .85, .9, .95};

struct StudyResult {
  uint64_t documents = 0;  // compared with each other
  uint64_t left_out = 0;   // of those added: comparing all of them would have taken too many steps
  double bytes = 0, shingles = 0, set_bytes = 0, metadata_bytes = 0;  // of an average document

  std::vector<uint64_t> pairs;    // by similarity, 100 steps of .01; the last one holds 1, too
  uint64_t pairs_similar = 0;     // at or above the threshold
  uint64_t pairs_found = 0;       // of these, the ones that meet and pass the prefilter
  uint64_t originals = 0;         // as the rule decides, in the order of the sample
  uint64_t candidates = 0;        // originals that documents met and that passed the prefilter
  uint64_t candidates_false = 0;  // of these, below the threshold
  uint64_t met = 0;               // originals that documents met, before the prefilter
  uint64_t estimates = 0;         // pairs of similarity .3 and more
  double estimate_rmse = 0;       // of the estimate from slices, on these
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
  // At most so many shingles are kept (16 bytes each) and so many steps taken.
  explicit SampleStudy(const EngineOptions& options, uint64_t shingles_max = 30'000'000,
                       uint64_t steps_max = 2'000'000'000);

  // A document of the sample; too short ones count only here.
  void add(std::string_view text, std::string_view scope, size_t metadata_bytes);
  // One that was signed elsewhere. A sample has documents of one kind only.
  void add_signed(const SignedDocument& document, const uint8_t* slices, size_t bytes);
  bool full() const { return postings_.size() >= shingles_max_ || values_ >= shingles_max_; }
  uint64_t documents() const { return sizes_.size(); }
  uint64_t without_text() const { return without_text_; }
  uint64_t too_short() const { return too_short_; }

  // progress(done, of) now and then.
  StudyResult finish(const std::function<void(uint64_t, uint64_t)>& progress);

 private:
  struct Posting {
    uint64_t shingle;
    uint32_t document;
    auto operator<=>(const Posting&) const = default;
  };
  struct Lists {
    std::vector<uint64_t> begin;      // of each list in `documents`, and the end
    std::vector<uint32_t> documents;  // ascending in each list
    std::vector<uint32_t> weight;     // the number of shingles that each list represents
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
  std::vector<CompactSet> sets_;  // of documents that were signed elsewhere
  uint64_t values_ = 0;           // in them
  uint64_t without_text_ = 0, too_short_ = 0;
  double bytes_ = 0, set_bytes_ = 0, metadata_bytes_ = 0;
  std::vector<bool> original_;                                          // under the rule
  std::array<std::vector<bool>, kStudyThresholds.size()> original_at_;  // under other thresholds
  double squared_error_ = 0;
};

}  // namespace doppel
