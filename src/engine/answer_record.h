#pragma once
// What one owner of originals answers to a range of documents, as a record. Documents of which it knows
// nothing are in the range and have no answer of their own. Little endian:
//
//    0  u32 CRC32C of all that follows
//    4  u8  version: 1
//    5  string generation: the decisions that the cut counts
//       string shards of the owner (ShardSet::text())
//       varint cut as of which it answers
//       varint first offset in the order, varint how many offsets
//       varint how many answers, then each: varint offset, from the one before (the first: from the first
//       offset), and
//           u8 flags: 1 a payload is known, 2 a digest is known, 4 there are relatives, 8 these were left out
//           varint number and u64 u64 digest of the original with this payload; varint number of the one with
//           this digest: where their flags say so
//           varint how many candidates, each: varint number, varint equal slices, u8 1 checked 2 estimated,
//           varint shared values, varint values of both: where it is checked
//           varint how many more, unchecked
//           varint how many bands list somebody with the same key, each: varint band, varint how many
//           varint how many originals have the id, each: varint number, u64 u64 digest
//           varint how many are described, each: varint number, string metadata
//           where flag 4 says so: varint how many prints are listed, each: varint number of the print, varint
//           by how many; varint how many relatives, each: varint number, varint prints that it lists, varint
//           how many hits, each: varint number of the print; u8 1 compared, and if so varint size of its set,
//           varint how many cells, each: varint cell, varint shared, varint how many runs, each: varint
//           begin, varint shingles

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

// Documents are named by their offsets in the order.
struct AnswerRecord {
  std::string generation;
  std::string shards;
  Cut as_of = 0;
  uint64_t begin = 0, end = 0;
  std::vector<std::pair<uint64_t, Answer>> answers;  // ascending
};

// Candidates behind the first `checked` are only counted.
void encode_answers(const AnswerRecord& record, size_t checked, std::string& out);
// InvalidArgument: no such record, a damaged one, or one of another version.
absl::Status decode_answers(std::string_view bytes, AnswerRecord& out);

}  // namespace doppel
