#pragma once
// A file that is written as a whole: beside its name first, and renamed when it is complete. Whatever happens
// before, what was there under the name stays.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/byte_stream.h"

namespace doppel {

class WholeOutput {
 public:
  // "-" is stdout. What is no regular file (a pipe, a device) is written directly. A link stays one: the file
  // behind it is replaced, and keeps its mode.
  static absl::StatusOr<std::unique_ptr<WholeOutput>> open(const std::string& path);
  // What is appended is written as it is, whatever the name ends in.
  static absl::StatusOr<std::unique_ptr<WholeOutput>> open_unpacked(const std::string& path);
  ~WholeOutput();  // without finish(): nothing was written
  WholeOutput(const WholeOutput&) = delete;
  WholeOutput& operator=(const WholeOutput&) = delete;

  // Where the name ends in .gz or .zst, each call makes a member (frame): give it whole records.
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
