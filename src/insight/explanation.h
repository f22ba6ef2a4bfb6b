#pragma once
// Two documents side by side, measured in every way that doppel has, and what the rule makes of them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace doppel {

struct ExplainedText {
  std::string name;
  std::string_view text;
  std::string_view scope;
  size_t bytes = 0;
  uint64_t words = 0;
  uint64_t shingles = 0;  // distinct ones
  Content content = Content::empty;
  size_t set_bytes = 0;  // of the coded set; 0: there is none
  int set_bits = 0;
  bool set_left_out = false;
  bool not_text = false;  // holds bytes that are not UTF-8, or zeros
};

// What comes of the second document if the first one is the only original so far.
enum class Finding {
  exact,      // same digest: a duplicate
  near,       // candidate, and similar enough: a duplicate
  near_miss,  // candidate, verified, below the threshold
  prefilter,  // a band met, but too few slices are equal to verify it
  apart,      // no band met, and below the threshold anyway
  missed,     // no band met, although at or above the threshold
  scopes,     // different scopes never meet
  too_short,  // one has fewer words than a shingle: only an equal digest would make it a copy
  no_text,    // one is empty
};
std::string_view finding_name(Finding finding);
inline bool is_duplicate(Finding f) { return f == Finding::exact || f == Finding::near; }

struct Explanation {
  ExplainedText a, b;
  Rule rule;
  int num_perm = 128;
  int shingle_words = 5;
  SketchFamily family = SketchFamily::fast;

  Finding finding = Finding::no_text;
  bool comparable = false;  // both have shingles and the same scope: what follows is filled
  Overlap exact;            // of the shingles themselves
  double slots = 0;         // share of equal slots of the sketches
  int equal_slices = 0;
  Overlap slices;               // the estimate from them
  std::optional<Overlap> sets;  // of the compact sets, where both have one
  Overlap decisive;             // what the verdict is made from
  bool estimated = false;       // decisive comes from slices
  std::vector<bool> bands;      // which ones meet
  int bands_met() const;
  double meets() const;  // probability that a pair of this similarity meets
};

struct NamedText {
  std::string name;
  std::string_view text;
  std::string_view scope;
};
Explanation explain(const EngineOptions& options, const NamedText& a, const NamedText& b);

// The verdict and why, in plain words: a headline and sentences that say what was compared with what.
struct PlainWords {
  std::string headline;
  std::vector<std::string> sentences;
};
PlainWords in_plain_words(const Explanation& e);

}  // namespace doppel
