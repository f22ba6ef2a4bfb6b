#pragma once
// The answers of one owner of originals to a range of documents, as a record. A document that the owner knows
// nothing about is in the range, but has no answer. Little endian:
//
//    0  u32 CRC32C of all that follows
//    4  u8  version: 1
//    5  string generation: identifies the decisions that the cut counts
//       string shards of the owner (ShardSet::text())
//       varint cut of the answers
//       varint first offset in the order, varint number of offsets
//       varint number of answers; each: varint offset minus the previous one (at first: minus the first
//       offset), and
//           u8 flags: 1 a payload is known, 2 a digest is known, 4 has relatives, 8 relatives were left out
//           flag 1: varint number, u64 u64 digest of the original with this payload
//           flag 2: varint number of the original with this digest
//           varint number of candidates; each: varint number, varint equal slices, u8 1 checked 2 estimated;
//           if checked: varint shared values, varint values of both
//           varint number of further, unchecked candidates
//           varint number of bands that list the key; each: varint band, varint originals listed
//           varint number of originals with the id; each: varint number, u64 u64 digest
//           varint number of described originals; each: varint number, string metadata
//           flag 4: varint number of listed prints; each: varint number of the print, varint originals that
//           list it; varint number of relatives; each: varint number, varint prints that it lists, varint
//           number of hits, each: varint number of the print; u8 1 compared; if compared: varint size of its
//           set, varint number of cells, each: varint cell, varint shared; varint number of runs, each:
//           varint begin, varint shingles

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/answer.h"
#include "engine/shard_set.h"

namespace doppel {

inline constexpr uint8_t kAnswerRecordVersion = 1;

// Documents are identified by their offsets in the order.
struct AnswerRecord {
  std::string generation;
  std::string shards;
  Cut as_of = 0;
  uint64_t begin = 0, end = 0;
  std::vector<std::pair<uint64_t, Answer>> answers;  // ascending
};

// Candidates after the first `checked` are only counted.
void encode_answers(const AnswerRecord& record, size_t checked, std::string& out);
// InvalidArgument: the bytes are not an answer record, are damaged, or have another version.
absl::Status decode_answers(std::string_view bytes, AnswerRecord& out);

}  // namespace doppel
