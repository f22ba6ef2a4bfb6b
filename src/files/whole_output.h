#pragma once
// A file that is written as a whole: under a temporary name in the same directory, renamed when it is
// complete. If the run fails earlier, an existing file keeps its content.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/byte_stream.h"

namespace doppel {

class WholeOutput {
 public:
  // "-" is stdout. A file that is not regular (a pipe, a device) is written directly. A link stays a link:
  // the file behind it is replaced and keeps its mode.
  static absl::StatusOr<std::unique_ptr<WholeOutput>> open(const std::string& path);
  // Writes the bytes uncompressed, whatever the name ends in.
  static absl::StatusOr<std::unique_ptr<WholeOutput>> open_unpacked(const std::string& path);
  ~WholeOutput();  // without finish(), removes the temporary file
  WholeOutput(const WholeOutput&) = delete;
  WholeOutput& operator=(const WholeOutput&) = delete;

  // If the name ends in .gz or .zst, each call makes one member (frame), so pass whole records.
  absl::Status append(std::string_view bytes);
  absl::Status finish();

 private:
  struct State;
  static absl::StatusOr<std::unique_ptr<WholeOutput>> open(const std::string& path, Packing packing);
  explicit WholeOutput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

absl::Status write_whole_output(const std::string& path, std::string_view bytes);

}  // namespace doppel
