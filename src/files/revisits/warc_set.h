#pragma once
// WARC files, found by what events say of their records: by path where it leads to a file, else by a name
// that only one of the given files has. Device and inode identify a file.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "files/input_file.h"
#include "records/revisits.h"

namespace doppel {

struct WarcPlace {
  size_t file = 0;
  uint64_t offset = 0;  // as it is stored
  bool operator==(const WarcPlace&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const WarcPlace& place) {
    return H::combine(std::move(h), place.file, place.offset);
  }
};

class WarcSet {
 public:
  // What of `paths` is a WARC file, also inside of a WACZ file, is chosen; of no paths: all that find()
  // finds. Nothing below `left_out` is. A path that cannot be read is an error, a file that is none is named
  // in `problems`. ARC files of directories are only counted: they have no revisit records.
  static absl::StatusOr<WarcSet> of(const std::vector<std::string>& paths, const std::string& left_out,
                                    std::vector<std::string>& problems);

  std::optional<WarcPlace> find(const NamedRecord& record);
  // Why find() found nothing.
  bool is_in_arc(const NamedRecord& record) const { return arcs_.contains(record.file); }
  uint64_t arcs_left_out() const { return arcs_left_out_; }
  size_t size() const { return files_.size(); }
  const InputFile& file(size_t number) const { return files_[number].file; }
  bool chosen(size_t number) const { return files_[number].chosen; }

 private:
  struct Known {
    InputFile file;
    bool chosen = false;
  };
  std::optional<size_t> file_of(const NamedRecord& record);
  std::optional<size_t> file_at(const std::string& path);
  size_t add(InputFile file, bool chosen);

  bool all_ = false;  // what is found is chosen
  std::vector<Known> files_;
  std::map<std::pair<uint64_t, uint64_t>, size_t> by_identity_;
  absl::flat_hash_map<std::string, std::vector<size_t>> by_name_;  // of the given ones
  absl::flat_hash_map<std::string, std::optional<size_t>> by_path_;
  absl::flat_hash_set<std::string> arcs_;  // that records were looked for in, by path
  uint64_t arcs_left_out_ = 0;
};

}  // namespace doppel
