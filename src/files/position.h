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
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
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

// What a FollowSource remembers between runs, as a log: changes are appended, so two successive positions
// differ only at their ends. The log is rewritten once half of it is obsolete.
//
//   "DFF" 0x01
//   entries; a later one overrides an earlier one of the same file:
//     'w' u64 hash of the path, u64 mark     a whole file that was read (whole_mark() of position.h)
//     'x' u64 hash of the path               that file is gone
//     't' LineMark, string path, string name a file of lines: its last path, and its name in events
//     'y' varint device, varint inode        that file is gone
//     'g' string path, varint count          how many earlier files were followed under this path
//   u32 CRC32C of all before
inline constexpr std::string_view kFollowMagic("DFF\1", 4);

using FileKey = std::pair<uint64_t, uint64_t>;  // device, inode

struct TailMark {
  LineMark mark;     // with its path; disk_length is 0 unless the file was read to its end
  std::string name;  // the file's name in events
  bool operator==(const TailMark&) const = default;
};

class FollowPosition {
 public:
  FollowPosition();
  // Parses the position of an earlier run of a FollowSource or of `scan`. The empty string is an empty
  // position.
  static absl::StatusOr<FollowPosition> parse(std::string_view bytes);
  std::string encode() const;
  Position as_position() const;

  static uint64_t path_hash(std::string_view path);
  bool knows_whole(uint64_t mark) const { return wholes_.contains(mark); }
  // The mark of the path's last whole file; 0 if none is known.
  uint64_t whole_at(uint64_t path) const;
  void set_whole(uint64_t path, uint64_t mark);
  void forget_whole(uint64_t path);
  // true: if a path gets another whole file, the one before stays known, because it may have been renamed.
  // false: forgets those that were not found under another path since.
  void keep_replaced(bool keep);

  const TailMark* tail(const FileKey& key) const;
  void set_tail(const TailMark& tail);
  void forget_tail(const FileKey& key);

  // How many earlier files had this path, and the name that events give to the current one.
  uint64_t count(const std::string& path) const;
  // Another one than any file of lines has, wherever that is now.
  std::string name_at(const std::string& path);
  void count_another(const std::string& path) { set_count(path, count(path) + 1); }
  void set_count(const std::string& path, uint64_t count);

  const absl::flat_hash_map<uint64_t, uint64_t>& whole_paths() const { return by_path_; }
  const absl::flat_hash_map<FileKey, TailMark>& tails() const { return tails_; }

 private:
  void put_tail(const FileKey& key, TailMark tail);
  bool drop_tail(const FileKey& key);
  void put_whole(uint64_t path, uint64_t mark);
  void drop_whole(uint64_t path);
  bool is_only_at(uint64_t path, uint64_t mark) const;
  absl::Status read(std::string_view entries);
  void log(std::string_view entry);
  void log_whole(uint64_t path, uint64_t mark);
  void log_tail(const TailMark& tail);
  void log_count(const std::string& path, uint64_t count);
  void write_anew();

  absl::flat_hash_map<uint64_t, uint64_t> wholes_;  // mark -> hash of its path; 0 if that is unknown
  // Hash of a path -> mark. The path of a replaced file that is kept is its mark.
  absl::flat_hash_map<uint64_t, uint64_t> by_path_;
  std::vector<uint64_t> replaced_;  // marks of these; some may have been found since
  bool keep_replaced_ = false;
  absl::flat_hash_map<FileKey, TailMark> tails_;
  absl::flat_hash_map<uint64_t, uint32_t> named_;  // hash of a name in events -> how many of tails_ have it
  absl::flat_hash_map<std::string, uint64_t> counts_;
  std::string log_;
  uint32_t crc_ = 0;
  size_t entries_ = 0;
};

}  // namespace doppel
