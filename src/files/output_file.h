#pragma once
// An append-only output whose length is part of every commit. A restart cuts it to the length of the last
// commit, which makes a run from file to file exactly once.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/byte_stream.h"

namespace doppel {

class OutputFile {
 public:
  // open() replaces an existing file (O_TRUNC). resume() cuts it to `keep_bytes` and continues it; a
  // shorter file is an error that names both lengths. "-" is stdout, which is never cut. A name that ends
  // in .gz or .zst selects compression: each flush() writes one member (frame).
  static absl::StatusOr<std::unique_ptr<OutputFile>> open(const std::string& path);
  static absl::StatusOr<std::unique_ptr<OutputFile>> open(const std::string& path, Packing packing);
  static absl::StatusOr<std::unique_ptr<OutputFile>> resume(const std::string& path, uint64_t keep_bytes);

  ~OutputFile();  // closes; discards bytes that were not flushed, because they were not committed
  void append(std::string_view bytes);  // into the buffer; cannot fail
  // Writes the appended bytes and these at once: for records that memory cannot hold. In a compressed file
  // they belong to the member that the next flush() ends.
  absl::Status stream(std::string_view bytes);
  absl::Status flush();  // writes everything; ENOSPC, EIO and EPIPE are reported here, with the file's name
  absl::Status sync();   // flush() and fdatasync(); a pipe has no fdatasync()
  // The last flush(): an empty compressed file gets one empty member, so that it can be decompressed.
  absl::Status finish();
  uint64_t length() const;  // bytes of the file so far, including the buffer (uncompressed)
  bool is_packed() const;
  const std::string& path() const;

 private:
  absl::Status write();
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace doppel
