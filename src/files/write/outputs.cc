#include "files/write/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "base/status.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

uint64_t committed_length(const std::vector<OutputLength>& lengths, const std::string& path) {
  for (const OutputLength& length : lengths) {
    if (length.path == path) return length.bytes;
  }
  return 0;
}

bool is_output(const FilesSinkOptions& options, const std::string& path) {
  return path == options.output || path == options.keep || path == options.rejects;
}

}  // namespace

// The entry with an empty path holds `announced`.
std::string encode_sink_position(const SinkPosition& position) {
  std::string out;
  for (const OutputLength& length : position.lengths) {
    put_string(out, length.path);
    put_varint(out, length.bytes);
  }
  if (position.announced) {
    put_string(out, "");
    put_varint(out, *position.announced);
  }
  return out;
}

SinkPosition parse_sink_position(std::string_view position) {
  SinkPosition out;
  ByteReader in(position);
  while (in.ok() && !in.rest().empty()) {
    std::string path(in.string());
    if (path.empty()) {
      out.announced = in.varint();
    } else {
      out.lengths.push_back({std::move(path), in.varint()});
    }
  }
  return out;
}

absl::StatusOr<std::unique_ptr<OutputFile>> open_output(const std::string& path, bool resume,
                                                        const std::vector<OutputLength>& lengths) {
  if (path.empty()) return std::unique_ptr<OutputFile>();
  std::error_code ignored;
  if (!resume || path == "-" || !fs::exists(path, ignored)) return OutputFile::open(path);
  return OutputFile::resume(path, committed_length(lengths, path));
}

bool outputs_support(const FilesSinkOptions& options, std::string_view position) {
  for (const OutputLength& length : parse_sink_position(position).lengths) {
    if (!is_output(options, length.path)) continue;
    std::error_code error;
    if (!fs::is_regular_file(length.path, error)) continue;  // moved away: a new file begins
    if (fs::file_size(length.path, error) < length.bytes) return false;
  }
  return true;
}

absl::Status check_outputs_are_there(const FilesSinkOptions& options, std::string_view position,
                                     const std::string& state) {
  for (const OutputLength& length : parse_sink_position(position).lengths) {
    if (length.bytes == 0) continue;
    if (!is_output(options, length.path)) continue;
    std::error_code error;
    if (fs::exists(length.path, error)) continue;
    return invalid(fmt::format(
        "{}: the file is gone, but the state in {} has written {} bytes to it and does not write them again: "
        "put it back, name another output for new events, or start with another state directory",
        length.path, state, length.bytes));
  }
  return absl::OkStatus();
}

bool is_known_output(std::string_view position, const std::string& path) {
  const std::vector<OutputLength> lengths = parse_sink_position(position).lengths;
  return std::any_of(lengths.begin(), lengths.end(), [&](const OutputLength& l) { return l.path == path; });
}

std::string foreign_output(const FilesSinkOptions& options, std::string_view position) {
  for (const std::string& path : {options.output, options.keep, options.rejects}) {
    std::error_code error;
    if (!is_known_output(position, path) && fs::is_regular_file(path, error) &&
        fs::file_size(path, error) > 0)
      return path;
  }
  return {};
}

}  // namespace doppel
