#pragma once
// WARC files, found by what events say about their records: by path if a file is there, otherwise by name
// if only one of the given files has it. Files are identified by device and inode.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/input_file.h"
#include "formats/warc/warc.h"
#include "records/revisits.h"

namespace doppel {

struct WarcPlace {
  size_t file = 0;
  uint64_t offset = 0;  // in the file as stored
  bool operator==(const WarcPlace&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const WarcPlace& place) {
    return H::combine(std::move(h), place.file, place.offset);
  }
};

class WarcSet {
 public:
  // Chooses the WARC files among `paths`, also those in WACZ files; if `paths` is empty, all files that
  // find() finds. Skips everything below `left_out`. A path that cannot be read is an error. A file of
  // `paths` that is not a WARC file is reported in `problems`. ARC files in directories are only counted,
  // because they have no revisit records.
  static absl::StatusOr<WarcSet> of(const std::vector<std::string>& paths, const std::string& left_out,
                                    std::vector<std::string>& problems);

  // Where the event says the record is; nullopt if its file is not found.
  std::optional<WarcPlace> find(const NamedRecord& record);
  // Whether find() found nothing because the record is in an ARC file.
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

  bool all_ = false;  // every file that is found is chosen
  std::vector<Known> files_;
  std::map<std::pair<uint64_t, uint64_t>, size_t> by_identity_;
  absl::flat_hash_map<std::string, std::vector<size_t>> by_name_;  // of the given files
  absl::flat_hash_map<std::string, std::optional<size_t>> by_path_;
  absl::flat_hash_set<std::string> arcs_;  // paths of ARC files in which records were looked for
  uint64_t arcs_left_out_ = 0;
};

// An index of all records in the files that are rewritten: the place of each by its id; which ones a
// crawler's revisit records refer to, which must not be replaced; and which ones answer a POST request, which
// no revisit record can refer to.
class RecordsOfFiles {
 public:
  // Adds the file with this number in its set. Appends a message to `problems` for each part that cannot be
  // read. It is an error if nothing can be read.
  absl::Status add(const InputFile& file, size_t number, std::vector<std::string>& problems);

  // The place of the record with this id, if exactly one has it.
  std::optional<WarcPlace> find(std::string_view record_id) const;
  // Whether the record with this id may be at `place`: false only if it is known to be elsewhere.
  bool is_at(const WarcPlace& place, std::string_view record_id) const;
  // Whether a revisit record, of the crawler or of an earlier run, is there.
  bool is_revisit(const WarcPlace& place) const { return revisits_.contains(place); }
  // Whether players may need the record for a crawler's revisit record. They find a capture by its id, or by
  // the key of its URI and the payload digest, and of several the nearest in time. So if `original` stays
  // under the same key, they find that one instead. `digest` is the payload digest of both.
  bool is_referred_to(const WarcRecord& record, std::string_view digest, const WarcRecord& original) const;
  // Whether the record answers a request with another method than GET. Players find such a record by its URI
  // together with what was sent, which a revisit record does not name. Requests are tied to their answers by
  // WARC-Concurrent-To, and by URI and date. `head` is the record's.
  bool answers_post(const WarcRecord& record, std::string_view head) const;

 private:
  absl::flat_hash_map<uint64_t, std::optional<WarcPlace>>
      by_id_;  // by hash of the id; nullopt: several records have it
  absl::flat_hash_set<WarcPlace> revisits_;
  absl::flat_hash_set<uint64_t> referred_to_;  // hashes of what revisit records refer to
  absl::flat_hash_set<uint64_t> posts_;        // hashes of what requests with a body are tied to
};

}  // namespace doppel
