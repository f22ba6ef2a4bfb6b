#pragma once
// What a FollowSource remembers between runs. Its form is a log: what changes is appended, so that two
// successive positions share all but their ends; once half of it is out of date it is rewritten.
//
//   "DFF" 0x01
//   entries, of which a later one overrides an earlier one of the same file:
//     'w' u64 hash of the path, u64 mark     a whole file that was taken (whole_mark() of position.h)
//     'x' u64 hash of the path               such a file is gone
//     't' LineMark, string path, string name a file of lines: where it was last seen, and what events call it
//     'y' varint device, varint inode        such a file is gone
//     'g' string path, varint count          how many files were followed under this path before the present
//     one
//   u32 CRC32C of all before

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "files/position.h"

namespace doppel {

inline constexpr std::string_view kFollowMagic("DFF\1", 4);

using FileKey = std::pair<uint64_t, uint64_t>;  // device, inode

struct TailMark {
  LineMark mark;     // with its path; disk_length: 0 unless it had been read to its end
  std::string name;  // what events call the file
  bool operator==(const TailMark&) const = default;
};

class FollowPosition {
 public:
  FollowPosition();
  // The position of an earlier run, also one of `scan`; empty: nothing is known.
  static absl::StatusOr<FollowPosition> parse(std::string_view bytes);
  std::string encode() const;
  Position as_position() const;

  static uint64_t path_hash(std::string_view path);
  bool knows_whole(uint64_t mark) const { return wholes_.contains(mark); }
  // The path's last whole file; 0: none.
  uint64_t whole_at(uint64_t path) const;
  void set_whole(uint64_t path, uint64_t mark);
  void forget_whole(uint64_t path);

  const TailMark* tail(const FileKey& key) const;
  void set_tail(const TailMark& tail);
  void forget_tail(const FileKey& key);

  // How many files had this path before; what events call the one that has it now.
  uint64_t count(const std::string& path) const;
  std::string name_at(const std::string& path) const;
  void count_another(const std::string& path) { set_count(path, count(path) + 1); }
  void set_count(const std::string& path, uint64_t count);

  // For looking through all of them.
  const absl::flat_hash_map<uint64_t, uint64_t>& whole_paths() const { return by_path_; }
  const absl::flat_hash_map<FileKey, TailMark>& tails() const { return tails_; }

 private:
  void put_whole(uint64_t path, uint64_t mark);
  void drop_whole(uint64_t path);
  absl::Status read(std::string_view entries);
  void log(std::string_view entry);
  void log_whole(uint64_t path, uint64_t mark);
  void log_tail(const TailMark& tail);
  void log_count(const std::string& path, uint64_t count);
  void write_anew();

  absl::flat_hash_map<uint64_t, uint64_t> wholes_;   // mark -> its path's hash; 0 where it is not known
  absl::flat_hash_map<uint64_t, uint64_t> by_path_;  // hash of a path -> mark
  absl::flat_hash_map<FileKey, TailMark> tails_;
  absl::flat_hash_map<std::string, uint64_t> counts_;
  std::string log_;
  uint32_t crc_ = 0;
  size_t entries_ = 0;
};

}  // namespace doppel
