#pragma once
// Near-duplicates by MapReduce with doppel's own signatures: for the backfill of a large archive on any
// cluster that runs streaming jobs. Lines in, lines out; the same settings and the same secret key
// everywhere.
//
//   mapper     a document (a line of JSON)  ->  KEY<TAB>TIME ID SLICES SET      a line for each band, and one
//   for the digest reducer    those, sorted by key         ->  TIME ID<TAB>TIME ID<TAB>INTER UNION KIND the
//   earlier document first clusters   all pairs, in any order      ->  a line of JSON for each duplicate, as
//   the one rule decides
//
// Documents are ordered by (time, id); what has no time comes first. A band's key is its number and 64 bits
// of its slices; a digest's key begins with x. Slices and coded sets are in hexadecimal digits, ids
// percent-coded. A reducer prints a pair only at the lowest band that it shares, so it comes once with any
// number of reducers.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "formats/decoder.h"
#include "index/band_key.h"
#include "sketch/compact_set.h"

namespace doppel {

struct BatchCounters {
  uint64_t records = 0;   // lines
  uint64_t rejected = 0;  // mapper: documents that could not be decoded
  uint64_t candidates = 0, printed = 0;
  uint64_t capped = 0;  // reducer: documents that were compared with the first max_listed of their key only
};

// Makes a document's lines.
class BatchMapper {
 public:
  BatchMapper(const EngineOptions& options, const FormatOptions& format);
  // An error: the reason why the document is rejected.
  absl::Status add(const Record& record, std::string& out);

 private:
  EngineOptions options_;
  Signer signer_;
  std::unique_ptr<Decoder> decoder_;
  BandKeys keys_;
  std::vector<uint8_t> slices_;
};

// Takes lines sorted by key, one by one.
class BatchReducer {
 public:
  explicit BatchReducer(const EngineOptions& options);
  absl::Status add(std::string_view line, std::string& out);
  void finish(std::string& out);
  const BatchCounters& counters() const { return counters_; }

 private:
  struct Member {
    std::string name;  // TIME ID as it came
    std::vector<uint8_t> slices;
    CompactSet set;
    bool has_set = false;
  };
  void compare(const Member& a, const Member& b, std::string& out);

  EngineOptions options_;
  BandKeys keys_;
  std::string key_;
  int band_ = 0;  // -1: a digest
  std::vector<Member> group_;
  BatchCounters counters_;
};

// The one rule over all pairs: every document that is no duplicate is an original; a duplicate is one of the
// most similar earlier original. Reads everything, then writes.
absl::StatusOr<BatchCounters> batch_clusters(std::istream& in, std::string& out);

}  // namespace doppel
