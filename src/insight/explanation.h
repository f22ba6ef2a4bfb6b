#pragma once
// Compares two documents with all of doppel's measures, and says what the rule decides.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "insight/text_diff.h"

namespace doppel {

struct ExplainedText {
  std::string name;
  std::string_view text;
  std::string_view scope;
  size_t bytes = 0;
  uint64_t words = 0;
  uint64_t shingles = 0;  // distinct
  Content content = Content::empty;
  size_t set_bytes = 0;  // size of the coded set; 0 if there is none
  int set_bits = 0;
  bool set_left_out = false;
  bool not_text = false;  // contains zeros or bytes that are not UTF-8
};

// The result for the second document if the first one is the only original.
enum class Finding {
  exact,      // equal digest: a duplicate
  near,       // candidate, and similar enough: a duplicate
  contained,  // the first one has most of it: a duplicate with partial: duplicate
  near_miss,  // candidate, verified, below the threshold
  prefilter,  // a band is equal, but too few slices are for verification
  apart,      // no band is equal; below the threshold anyway
  missed,     // no band is equal, although the similarity reaches the threshold
  scopes,     // different scopes: never compared
  too_short,  // one text has fewer words than a shingle: only an equal digest makes a duplicate
  no_text,    // one text is empty
};
std::string_view finding_name(Finding finding);
inline bool is_duplicate(Finding f) {
  return f == Finding::exact || f == Finding::near || f == Finding::contained;
}

struct Explanation {
  ExplainedText a, b;
  Rule rule;
  int num_perm = 128;
  int shingle_words = 5;
  SketchFamily family = SketchFamily::fast;

  Finding finding = Finding::no_text;
  bool comparable = false;  // both have shingles and the same scope; the members below are set
  Overlap exact;            // of the shingles
  double slots = 0;         // share of the sketches' slots that are equal
  int equal_slices = 0;
  Overlap slices;                          // the estimate from equal_slices
  std::optional<Overlap> sets;             // of the compact sets, if both have one
  Overlap decisive;                        // the overlap that the verdict depends on
  bool estimated = false;                  // decisive is slices
  std::vector<bool> bands;                 // which bands are equal
  std::optional<CommonPassages> passages;  // if both have a set
  int bands_met() const;
  double meets() const;  // probability that a pair of this similarity shares a band
};

struct NamedText {
  std::string name;
  std::string_view text;
  std::string_view scope;
};
Explanation explain(const EngineOptions& options, const NamedText& a, const NamedText& b);

// Whether the second text is unique, and its event names the first one as similar.
bool is_similar(const Explanation& explanation);

// The verdict and its reasons: a headline and sentences that say what was compared with what.
struct PlainWords {
  std::string headline;
  std::vector<std::string> sentences;
};
PlainWords in_plain_words(const Explanation& e);

// An explanation as a self-contained HTML page: the verdict, the numbers, the bands, and both texts side by
// side with the differences marked. Everything from documents is escaped.

// A number and its origin: "exact", "0.913043", "21 of 23 shingles".
struct Measure {
  std::string name, value, detail;
};
std::vector<Measure> measures(const Explanation& e);

// "What differs: ...", or why nothing differs.
std::string difference_in_words(const TextDiff& diff);

// Describes the passages of one text that the other one has, too: where each is, and how it begins.
std::vector<std::string> passages_in_words(std::string_view text, const std::vector<Passage>& passages);
// Whether the passages tell more than the difference.
bool shows_passages(const Explanation& e);

std::string explain_page(const Explanation& e, const TextDiff& diff);

}  // namespace doppel
