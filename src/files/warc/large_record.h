#pragma once
// Processes a WARC record that is too large for memory while it is read: hashes its payload, and stores the
// rest of it in a temporary file, so that a sink can write the whole record.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sha1.h"
#include "files/spill.h"
#include "formats/record.h"
#include "formats/warc/warc.h"

namespace doppel {

class LargeRecord {
 public:
  // `record` has the beginning of its block. The temporary file is created in `directory`; if that is
  // empty, nobody writes the record, and there is no file.
  LargeRecord(const WarcRecord& record, const std::string& directory);
  // Adds the following bytes of the block, in order.
  void add(std::string_view bytes);
  // whole: all bytes of the block were added.
  std::shared_ptr<const RecordRest> finish(bool whole);

 private:
  std::optional<Sha1> payload_;  // set if the record itself has no SHA-1
  std::unique_ptr<Spill> spill_;
  uint64_t bytes_ = 0;
  std::string missing_;
};

}  // namespace doppel
