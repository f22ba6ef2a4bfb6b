#pragma once
// An append-only output whose length is part of every commit: at start it is cut to the length that the last
// commit recorded, so that file to file is exactly once.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/byte_stream.h"

namespace doppel {

class OutputFile {
 public:
  // "-" is stdout (never cut). With `keep_bytes` the file is cut to that length and continued; it is an error
  // if it is shorter (the message names both lengths). Without, an existing file is replaced (opened with
  // O_TRUNC).
  // A name that ends in .gz or .zst is packed so: what one flush() writes is a member (frame) of its own.
  static absl::StatusOr<std::unique_ptr<OutputFile>> open(const std::string& path);
  static absl::StatusOr<std::unique_ptr<OutputFile>> open(const std::string& path, Packing packing);
  static absl::StatusOr<std::unique_ptr<OutputFile>> resume(const std::string& path, uint64_t keep_bytes);

  ~OutputFile();  // closes; what was not flushed is lost on purpose (it was not committed)
  void append(std::string_view bytes);  // buffered, cannot fail
  // What was appended, and these bytes, at once: for more than memory holds. A packed file's member goes on
  // until the next flush().
  absl::Status stream(std::string_view bytes);
  absl::Status flush();  // write() everything; ENOSPC, EIO, EPIPE come out here, naming the file
  absl::Status sync();   // flush + fdatasync (nothing more for pipes)
  // flush() at the end of all: a packed file that holds nothing becomes one that can be unpacked.
  absl::Status finish();
  uint64_t length() const;  // bytes of the file so far, buffered ones (as they came) included
  bool is_packed() const;
  const std::string& path() const;

 private:
  absl::Status write();
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace doppel
