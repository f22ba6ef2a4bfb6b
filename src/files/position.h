#pragma once
// What a FilesSource remembers between runs, and its form as a string:
//
//   "DFP" 0x01
//   entries, one after the other:
//     'W' u64            a file that was read whole: hash of device, inode, size and its first 4 KiB
//     'L' LineMark       a file read as lines, without its path
//     'P' LineMark       the same, not read to its end; with its path, so that a missing file can be named
//   u32 CRC32C of all before
//
//   LineMark: varints device, inode, head_length; u64 head_hash; varints disk_length, offset, lines, tail;
//   'P': string path
//
// Integers are little endian. Entries of finished files are only appended: encoding a position costs one
// copy, however many files there are, and two successive positions differ only at their ends.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace doppel {

inline constexpr size_t kHeadBytes = 4096;

struct LineMark {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t head_length = 0;  // min(size when opened, kHeadBytes)
  uint64_t head_hash = 0;
  uint64_t disk_length = 0;  // size of a file that was read to its end; else 0
  uint64_t offset = 0;       // uncompressed bytes that were delivered
  uint64_t lines = 0;
  uint64_t tail = 0;  // length of the last line if it had no line feed
  std::string path;   // set only while disk_length is 0
  bool operator==(const LineMark&) const = default;
};

uint64_t hash_of_head(std::string_view head);
uint64_t whole_mark(uint64_t device, uint64_t inode, uint64_t size, std::string_view head);

struct Position {
  std::vector<LineMark> lines;
  std::vector<uint64_t> wholes;
};

// Encodes a mark as in a position, without its path.
void put_mark(std::string& out, const LineMark& mark);
LineMark take_mark(ByteReader& in);

// Accepts the empty string, and the position of a FollowSource.
absl::StatusOr<Position> parse_position(std::string_view bytes);

class PositionWriter {
 public:
  PositionWriter();
  void add_whole(uint64_t mark);
  void add_done(const LineMark& mark);
  // Adds files that an earlier run left unfinished, or that have grown, in the order in which they will be
  // read.
  void add_pending(const LineMark& mark);
  // The first pending file is now the current one.
  void take_pending();
  std::string encode(const LineMark* current) const;

 private:
  std::string done_;
  uint32_t done_crc_ = 0;
  std::string pending_;
  std::vector<size_t> pending_ends_;
  size_t taken_ = 0;

  void append_done(std::string_view entry);
};

}  // namespace doppel
