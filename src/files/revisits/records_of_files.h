#pragma once
// An index of all records in the files that are rewritten: the place of each by its id; which ones a
// crawler's revisit records refer to, which must not be replaced; and which ones answer a POST request, which
// no revisit record can refer to.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "files/input_file.h"
#include "files/revisits/warc_set.h"
#include "formats/warc/warc.h"

namespace doppel {

class RecordsOfFiles {
 public:
  // Adds the file with this number in its set. Appends a message to `problems` for each part that cannot be
  // read. It is an error if nothing can be read.
  absl::Status add(const InputFile& file, size_t number, std::vector<std::string>& problems);

  // The place of the record with this id, if exactly one has it.
  std::optional<WarcPlace> find(std::string_view record_id) const;
  // Whether the record with this id may be at `place`: false only if it is known to be elsewhere.
  bool is_at(const WarcPlace& place, std::string_view record_id) const;
  // Looks the record up by id, by URI and date, and by URI and payload digest, for revisit records that
  // give neither.
  bool is_referred_to(const WarcRecord& record) const;
  // Whether the record answers a request with another method than GET. Players find such a record by its URI
  // together with what was sent, which a revisit record does not name. Requests are tied to their answers by
  // WARC-Concurrent-To, and by URI and date. `head` is the record's.
  bool answers_post(const WarcRecord& record, std::string_view head) const;

 private:
  absl::flat_hash_map<uint64_t, std::optional<WarcPlace>>
      by_id_;                                  // by hash of the id; nullopt: several records have it
  absl::flat_hash_set<uint64_t> referred_to_;  // hashes of what revisit records refer to
  absl::flat_hash_set<uint64_t> posts_;        // hashes of what requests with a body are tied to
};

}  // namespace doppel
