#pragma once
// The one rule (docs/concepts.md): if an earlier, live original reaches the threshold, the document is a
// duplicate of the most similar one (ties: the earliest); otherwise it becomes an original. Similarities are
// pairs of integers and are compared without rounding.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "doppel/verdict.h"
#include "index/banding.h"
#include "index/index.h"
#include "sketch/sketch.h"

namespace doppel {

// Relations besides near duplicates: one text contains most of the other, the two share a passage, or they
// are nearly as similar as duplicates (docs/partial-copies.md).
inline constexpr std::array kRelations{Relation::contained, Relation::contains, Relation::shares,
                                       Relation::similar};
std::string_view relation_name(Relation relation);
// The names as settings: near, then those of kRelations.
std::vector<std::string> relation_names();
// What many unique documents do, such as "share a passage", and what one does to the other, such as "shares a
// passage with".
std::string_view relation_of_many(Relation relation);
std::string_view relation_verb(Relation relation);

// Unique documents, by their strongest relation.
struct RelationCounts {
  std::array<uint64_t, kRelations.size()> counts{};
  uint64_t& operator[](Relation relation) { return counts[static_cast<size_t>(relation)]; }
  uint64_t operator[](Relation relation) const { return counts[static_cast<size_t>(relation)]; }
  uint64_t sum() const;
  bool operator==(const RelationCounts&) const = default;
};

inline constexpr uint32_t kSimilarFrom = 600'000;  // the default of report_from, in millionths

// Which relations an index reports besides `near`, and their limits.
struct RelationRule {
  bool contained = false;
  bool contains = false;
  bool shares = false;
  uint32_t similar_ppm = 0;  // the least similarity of `similar`; 0: it is not reported
  uint32_t passage = 0;      // shingles of the shortest passage; 0: none of the other relations
  uint32_t shingle_words = 5;
  uint32_t containment_ppm = 800'000;
  uint32_t common_after = 20;      // a passage that this many originals have is common: it says nothing
  uint32_t max_related = 16;       // originals reported for one document
  bool partial_duplicate = false;  // a contained document counts as a duplicate
  bool cut = false;                // whether RESOLVE fills Outcome::repeated

  // Whether there are relations that are found by prints, which similar ones are not.
  bool on() const { return passage != 0 && needs_prints(); }
  bool needs_prints() const { return contained || contains || shares; }
  bool any() const { return on() || similar_ppm != 0; }
  bool knows(Relation relation) const;
  // Texts are related only if they share at least this many shingles that are not common.
  uint32_t shared_least() const { return passage < 20 ? passage : 20; }
  bool operator==(const RelationRule&) const = default;
};

// The relations with these names, and the limits that they have by default. `passage` is not set.
RelationRule relations_named(std::span<const std::string> names);

// A range of consecutive shingles of a document.
struct ShingleRun {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
  bool operator==(const ShingleRun&) const = default;
};

// The same range in words, counted from 0.
struct WordRange {
  uint32_t begin = 0, end = 0;
  bool operator==(const WordRange&) const = default;
};

// The same range in bytes of the text.
struct ByteRange {
  uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

// An original that a document is related to. Shingles of common passages do not count. If it is similar,
// of_document and of_original both count the shingles of the two texts together.
struct Related {
  Seq seq = 0;
  Relation relation = Relation::shares;
  uint64_t shared = 0;       // shingles that both have
  uint64_t of_document = 0;  // shingles of the document
  uint64_t of_original = 0;  // shingles of the original
  // the longest passages of the document that the original has too; ascending
  std::vector<WordRange> passages;
  std::vector<ByteRange> bytes;  // the passages as bytes; empty without the text
  std::string original;          // metadata of the original
  bool operator==(const Related&) const = default;
};

enum class Verify { exact, signature };

// Record times are milliseconds since 1970. This value means that there is none.
inline constexpr int64_t kNoTime = INT64_MIN;

struct Rule {
  uint32_t threshold_ppm = 800'000;
  Verify verify = Verify::exact;
  Banding banding{11, 4};
  bool banding_chosen = false;  // derived from threshold and recall; an existing index keeps its own
  int min_equal = 80;           // minimum of equal slices for verification
  int max_listed = 256;         // originals with the same key that a band lists
  int max_checks = 64;          // candidates that are verified for one document
  int64_t expire_after_ms = 0;  // 0 means never
  uint64_t max_documents = 0;   // originals from the oldest live one to the newest; 0: unlimited
  // Set if max_documents also follows from max_memory (set_room()); otherwise 0.
  uint64_t max_memory = 0;           // bytes, as configured
  uint64_t documents_in_memory = 0;  // what max_memory was converted to when the index was created
  uint64_t documents_setting = 0;    // the setting max_documents; 0: none
  bool replace = false;              // a document first removes the original with its id
  uint32_t generation = 1024;        // number of originals that expire together
  uint32_t watermark_rank = 1000;    // the watermark is the n-th largest record time so far
  RelationRule relations;            // relations other than near

  // An original that is less similar is of no interest.
  uint32_t least_ppm() const { return relations.similar_ppm != 0 ? relations.similar_ppm : threshold_ppm; }
};

__extension__ using Uint128 = unsigned __int128;

inline bool reaches(Overlap s, uint32_t threshold_ppm) {
  return static_cast<Uint128>(s.inter) * 1'000'000 >= static_cast<Uint128>(s.uni) * threshold_ppm;
}

inline bool more_similar(Overlap a, Overlap b) {
  return static_cast<Uint128>(a.inter) * b.uni > static_cast<Uint128>(b.inter) * a.uni;
}

// In millionths, rounded down, as it is shown.
inline uint32_t similarity_ppm(Overlap s) {
  return s.uni == 0 ? 0 : static_cast<uint32_t>(static_cast<Uint128>(s.inter) * 1'000'000 / s.uni);
}

// Makes a rule from a user's settings; bands and rows are chosen if they are 0. An error names what is
// impossible and what would be possible.
absl::StatusOr<Rule> make_rule(double threshold, double recall, int num_perm, int bands = 0, int rows = 0);
// What reaches the threshold is a duplicate, so report_from must be below it.
absl::Status check_report_from(double from, double threshold);
// Makes the rule report originals that are at least so similar, and chooses bands and rows that find them.
// The arguments are those of make_rule(). An error says that `from` is not below the threshold.
absl::Status report_from(Rule& rule, double from, double recall, int num_perm);
// Sets max_documents to the smaller one of the setting and what fits into the memory.
void set_room(Rule& rule, uint64_t max_memory, uint64_t documents_in_memory, uint64_t documents_setting);
// Takes the number of originals that max_memory was converted to from the description of an index. Changes
// nothing if it has none, or if max_memory is not set.
void take_room(Rule& rule, std::string_view described);
// Replaces chosen bands and rows with those in the description of an index. Returns whether they changed.
bool take_banding(Rule& rule, std::string_view described);

}  // namespace doppel
