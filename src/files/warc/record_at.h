#pragma once
// Reads records of a WARC file: one at its offset, and where it ends; or all of them.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/input_file.h"
#include "formats/record.h"
#include "text/hash_key.h"

namespace doppel {

struct RecordAt {
  std::string head;         // the WARC head as stored, with the empty line
  std::string http_head;    // of a response, with the empty line; empty if it is not HTTP
  uint64_t body_bytes = 0;  // bytes of the block behind the HTTP head
  Digest body;              // the digest of these bytes
  uint64_t end = 0;         // where the next record begins in the file
  bool alone = true;        // false: its member (frame) contains other records, too
};

// Reads the record at `offset` of `file`, which look_inside() has described. In a compressed file, its
// member begins there. It is an error if no record begins there, it is damaged or truncated, or its HTTP
// head is longer than 1 MiB; the message says so.
absl::StatusOr<RecordAt> read_record_at(const InputFile& file, uint64_t offset, const Digester& digester);

// Calls `visit` with each record of `file`, which look_inside() (content.h) has described. Large records
// are passed without their rest. Adds what is wrong with the file to `problems`. It is an error if the file
// cannot be opened.
absl::Status each_warc_record(const InputFile& file, const std::function<void(const Record&)>& visit,
                              std::vector<std::string>& problems);

}  // namespace doppel
