#pragma once
// What a commit stores about the outputs: how many bytes of each are written.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/output_file.h"
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

// The entry with an empty path holds `announced`.
SinkPosition parse_sink_position(std::string_view position);

// Opens an output behind the bytes that earlier commits wrote. Returns nullptr for an empty path.
absl::StatusOr<std::unique_ptr<OutputFile>> open_output(const std::string& path, bool resume,
                                                        const std::vector<OutputLength>& lengths);

}  // namespace doppel
