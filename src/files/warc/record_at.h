#pragma once
// One record of a WARC file, from the place at which it is stored, and where it ends there.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "files/input_file.h"
#include "text/digest.h"

namespace doppel {

struct RecordAt {
  std::string head;         // the WARC head as it is, with the empty line
  std::string http_head;    // of the response, with the empty line; empty: it is no HTTP response
  uint64_t body_bytes = 0;  // what follows in the block,
  Digest body;              // and its digest
  uint64_t end = 0;         // behind it in the file, with all that follows up to the next record
  bool alone = true;        // false: other records are in its member (frame), too
};

// Reads the record whose member (in a plain file: which itself) begins at `offset` of `file`, as
// look_inside() has described it. The error says what is wrong there: no record begins there, it is damaged,
// cut off, or its HTTP head is longer than 1 MiB.
absl::StatusOr<RecordAt> read_record_at(const InputFile& file, uint64_t offset, const Digester& digester);

}  // namespace doppel
