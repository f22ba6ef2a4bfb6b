#pragma once
// The one rule in its plainest form: documents one after the other, uncompressed sets of word n-grams (no
// hash, no sketch, no band), and an exact comparison with every original that shares a shingle.
//
//   If an earlier original r has similarity(d, r) >= threshold, d is a duplicate of the most similar
//   such r (ties: the earliest). Otherwise d becomes an original.
//
// There are two ways to use it. feed(document) follows its own verdicts: those of a perfect detector.
// feed(document, said) accepts another detector's verdict, so that each document is judged against that
// detector's originals: a single miss does not make all later verdicts differ.

#include <array>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace doppel::oracle {

struct Ratio {
  uint64_t inter = 0;
  uint64_t uni = 0;
  double value() const { return uni == 0 ? 0 : static_cast<double>(inter) / static_cast<double>(uni); }
  bool reaches(uint64_t ppm) const { return uni != 0 && inter * 1'000'000 >= uni * ppm; }
  bool exceeds(const Ratio& other) const {
    return inter * (other.uni == 0 ? 1 : other.uni) > other.inter * (uni == 0 ? 1 : uni);
  }
  bool operator==(const Ratio&) const = default;
};

enum class Kind { unique, exact, near, unscored };
const char* kind_name(Kind kind);

struct OracleOptions {
  uint64_t threshold_ppm = 800'000;
  size_t shingle_words = 5;       // at most 8
  int64_t expire_after_ms = 0;    // 0: never
  size_t watermark_rank = 1'000;  // the watermark is the n-th largest timestamp so far
  size_t generation = 1'024;      // originals that expire together
};

struct Input {
  std::string_view text{};
  std::string_view scope{};
  std::optional<int64_t> timestamp_ms{};
};

// Documents are numbered 0, 1, 2, ... as they are fed, whatever their verdict.
using Number = uint64_t;

struct Answer {
  Number number = 0;               // of this document
  Kind kind = Kind::unique;        // the rule's verdict, given the originals so far
  std::optional<Number> original;  // exact and near: its original
  Ratio similarity;                // to `original`
  std::optional<Number> best;      // the most similar original, also below the threshold
  Ratio best_similarity;
  Ratio named_similarity;  // to the original that the other detector named; 0/0 if there is no such
                           // live one
  bool named_same_text = false;
};

// Another detector's verdict: an original, a duplicate of one, or neither (unscored).
struct Said {
  bool original = false;
  std::optional<Number> duplicate_of{};
};

class Oracle {
 public:
  explicit Oracle(const OracleOptions& options) : options_(options) {}

  Answer feed(const Input& document);
  Answer feed(const Input& document, const Said& said);

  // Returns false if there is no such live original.
  bool remove(Number original);
  // Makes originals with lower numbers dead.
  void expire_below(Number number);

  bool live(Number number) const;
  std::vector<Number> live_originals() const;

 private:
  using Shingle = std::array<uint32_t, 8>;  // numbers of words; 0: none
  struct Original {
    Number number = 0;
    std::string text;
    std::string scope;
    size_t shingles = 0;
    std::optional<int64_t> time_ms;
    bool live = true;
  };

  std::vector<uint32_t> shingles_of(std::string_view text);
  Answer judge(const Input& document, const std::vector<uint32_t>& shingles, const Said* said);
  void add(const Input& document, Number number, const std::vector<uint32_t>& shingles);
  void take_time(const Input& document);
  const Original* find(Number number) const;

  OracleOptions options_;
  Number next_ = 0;
  std::vector<Original> originals_;  // by number
  size_t first_live_ = 0;            // originals before it have expired
  absl::flat_hash_map<std::string, uint32_t> words_;
  absl::flat_hash_map<Shingle, uint32_t> shingles_;
  std::vector<std::vector<uint32_t>> holders_;  // shingle -> places in originals_
  absl::flat_hash_map<std::string, std::vector<uint32_t>> by_text_;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>>
      latest_;                    // the watermark_rank largest timestamps
  std::vector<uint32_t> common_;  // scratch: shared shingles by place in originals_
};

}  // namespace doppel::oracle
