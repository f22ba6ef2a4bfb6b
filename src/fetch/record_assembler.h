#pragma once
// Assembles the WARC record that begins at some offset of a file, while the file's bytes arrive.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

// The first bytes tell whether the record is compressed: as a gzip member, as a zstd frame, or not at all.
class RecordAssembler {
 public:
  // Keeps only the beginning of a block above max_bytes.
  explicit RecordAssembler(uint64_t max_bytes);
  ~RecordAssembler();
  RecordAssembler(const RecordAssembler&) = delete;
  RecordAssembler& operator=(const RecordAssembler&) = delete;

  // Takes more bytes of the file. Returns true when the record is complete. It is an error if it is
  // damaged.
  absl::StatusOr<bool> feed(std::string_view bytes);
  // Call it at the end of the file. It is an error if the record is not complete.
  absl::Status end() const;
  // Returns the complete record; kRecordPadding more bytes are readable behind it.
  std::string take();

 private:
  enum class Kind : unsigned char { unknown, plain, gz, zst };
  struct Unpacker;

  absl::Status unpack(std::string_view bytes);
  absl::StatusOr<bool> look();

  uint64_t max_bytes_;
  Kind kind_ = Kind::unknown;
  std::unique_ptr<Unpacker> unpacker_;
  std::string first_;    // bytes that do not yet tell the compression
  std::string record_;   // decompressed
  uint64_t wanted_ = 0;  // 0: the head is not complete
};

}  // namespace doppel
