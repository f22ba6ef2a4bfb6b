#pragma once
// What is known of all records of the files that are rewritten: where each is by its id, and which are
// referred to by revisit records of a crawler, so that they must stay what they are.

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
  // Reads the file, which has that number in its set. `problems`: what cannot be read of it. The error:
  // nothing can.
  absl::Status add(const InputFile& file, size_t number, std::vector<std::string>& problems);

  // Of an id that one record has.
  std::optional<WarcPlace> find(std::string_view record_id) const;
  bool is_at(const WarcPlace& place, std::string_view record_id) const;
  // By id, by URI and date, or, where a revisit record says neither, by URI and payload digest.
  bool is_referred_to(const WarcRecord& record) const;

 private:
  absl::flat_hash_map<uint64_t, std::optional<WarcPlace>>
      by_id_;                                  // by hash; nothing: several records have it
  absl::flat_hash_set<uint64_t> referred_to_;  // hashes of what names a record
};

}  // namespace doppel
