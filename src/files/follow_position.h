#pragma once
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

  const TailMark* tail(const FileKey& key) const;
  void set_tail(const TailMark& tail);
  void forget_tail(const FileKey& key);

  // How many earlier files had this path, and the name that events give to the current one.
  uint64_t count(const std::string& path) const;
  std::string name_at(const std::string& path) const;
  void count_another(const std::string& path) { set_count(path, count(path) + 1); }
  void set_count(const std::string& path, uint64_t count);

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

  absl::flat_hash_map<uint64_t, uint64_t> wholes_;   // mark -> hash of its path; 0 if that is unknown
  absl::flat_hash_map<uint64_t, uint64_t> by_path_;  // hash of a path -> mark
  absl::flat_hash_map<FileKey, TailMark> tails_;
  absl::flat_hash_map<std::string, uint64_t> counts_;
  std::string log_;
  uint32_t crc_ = 0;
  size_t entries_ = 0;
};

}  // namespace doppel
