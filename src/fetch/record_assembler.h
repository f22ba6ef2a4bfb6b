#pragma once
// The WARC record that begins at some place of a file, put together from the file's bytes as they come.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

// Packed as gz (one member), as zst (one frame) or not at all: that shows in the first bytes.
class RecordAssembler {
 public:
  // Of a block above max_bytes only the beginning is kept.
  explicit RecordAssembler(uint64_t max_bytes);
  ~RecordAssembler();
  RecordAssembler(const RecordAssembler&) = delete;
  RecordAssembler& operator=(const RecordAssembler&) = delete;

  // More of the file. True: the record is complete, nothing more is needed. An error: it is damaged.
  absl::StatusOr<bool> feed(std::string_view bytes);
  // The file has ended. The error: within the record.
  absl::Status end() const;
  // The complete record; kRecordPadding bytes may be read behind it.
  std::string take();

 private:
  enum class Kind : unsigned char { unknown, plain, gz, zst };
  struct Unpacker;

  absl::Status unpack(std::string_view bytes);
  absl::StatusOr<bool> look();

  uint64_t max_bytes_;
  Kind kind_ = Kind::unknown;
  std::unique_ptr<Unpacker> unpacker_;
  std::string first_;    // until it shows what they are
  std::string record_;   // unpacked
  uint64_t wanted_ = 0;  // 0: the head is not complete
};

}  // namespace doppel
