#pragma once
// Counts the captures of an archive, their bytes and their copies, by host, type and year.

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "formats/record.h"

namespace doppel {

struct Tally {
  uint64_t captures = 0, bytes = 0;       // responses and resources; their payloads, decompressed
  uint64_t copies = 0, copied_bytes = 0;  // captures with the payload of an earlier one
  uint64_t revisits = 0;                  // revisit records, which have no payload
};

class ArchiveTally {
 public:
  // Adds a record. Of equal payloads, the first one added counts as the original.
  void add(const Record& record);

  const Tally& all() const { return all_; }
  using Groups = std::map<std::string, Tally>;
  const Groups& hosts() const { return hosts_; }
  const Groups& types() const { return types_; }
  const Groups& years() const { return years_; }

 private:
  Tally all_;
  Groups hosts_, types_, years_;
  absl::flat_hash_set<uint64_t> payloads_;  // hashes of digests
};

}  // namespace doppel
