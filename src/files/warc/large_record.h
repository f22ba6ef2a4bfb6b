#pragma once
// A WARC record that is too large to be held, on its way through the reader: its payload is hashed, and what
// follows its beginning waits in a file for whoever writes the record elsewhere.

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
  // `record` with the beginning of its block. directory: of that file; empty: nobody writes the record.
  LargeRecord(const WarcRecord& record, const std::string& directory);
  // What follows in the block, in order.
  void add(std::string_view bytes);
  // whole: everything was added.
  std::shared_ptr<const RecordRest> finish(bool whole);

 private:
  std::optional<Sha1> payload_;  // where the record has no SHA-1 itself
  std::unique_ptr<Spill> spill_;
  uint64_t bytes_ = 0;
  std::string missing_;
};

}  // namespace doppel
