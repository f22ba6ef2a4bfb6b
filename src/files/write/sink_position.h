#pragma once
// What a commit stores about the outputs: how many bytes of each are written. It is a string to everything
// else. The next start compares the outputs with it before it writes.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/output_file.h"
#include "files/write/sink_options.h"
#include "index/index.h"

namespace doppel {

struct OutputLength {
  std::string path;
  uint64_t bytes = 0;
};

struct SinkPosition {
  std::vector<OutputLength> lengths;
  std::optional<Seq> announced;  // removed originals below this number were announced
};

std::string encode_sink_position(const SinkPosition& position);
SinkPosition parse_sink_position(std::string_view position);

// Whether the outputs have at least the lengths in `position`.
bool outputs_support(const FilesSinkOptions& options, std::string_view position);
// Returns InvalidArgument if `position` records bytes of an output that does not exist any more. `state` is
// the state directory, for the message.
absl::Status check_outputs_are_there(const FilesSinkOptions& options, std::string_view position,
                                     const std::string& state);
// Whether the run of `position` wrote to this file.
bool is_known_output(std::string_view position, const std::string& path);
// Returns the first output that has bytes and is unknown to `position`; otherwise an empty path.
std::string foreign_output(const FilesSinkOptions& options, std::string_view position);

// Opens an output behind the bytes that earlier commits wrote. Returns nullptr for an empty path.
absl::StatusOr<std::unique_ptr<OutputFile>> open_output(const std::string& path, bool resume,
                                                        const std::vector<OutputLength>& lengths);

}  // namespace doppel
