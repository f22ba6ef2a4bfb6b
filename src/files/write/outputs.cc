#include "files/write/outputs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "base/status.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

// Markers that stand for the path of an entry about the output before it.
const std::string kHash(1, '\0'), kInode(1, '\1');

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

// Whether the file ends, where this commit ended, in what the commit wrote.
bool holds(const OutputLength& length, const std::string& path) {
  return length.bytes > 0 && length.last_hash != 0 && hash_before(path, length.bytes) == length.last_hash;
}

// What the commit says about the output with this path. It may have been written by another path.
const OutputLength* find(const std::vector<OutputLength>& lengths, const std::string& path) {
  for (const OutputLength& length : lengths) {
    if (is_same_file(length.path, path)) return &length;
  }
  for (const OutputLength& length : lengths) {
    if (holds(length, path)) return &length;
  }
  return nullptr;
}

// Whether another file is in the place of what the commit wrote.
bool is_replaced(const OutputLength& length, const std::string& path) {
  struct stat info = {};
  if (length.inode == 0 || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (length.bytes > 0) return !holds(length, path);
  return info.st_size > 0 && info.st_ino != length.inode;
}

std::vector<std::string> outputs_of(const FilesSinkOptions& options) {
  std::vector<std::string> out;
  for (const std::string& path : {options.output, options.keep, options.rejects}) {
    if (!path.empty() && path != "-") out.push_back(path);
  }
  return out;
}

}  // namespace

// The entry with an empty path holds `announced`.
std::string encode_sink_position(const SinkPosition& position) {
  std::string out;
  const auto put = [&](const std::string& path, uint64_t number) {
    put_string(out, path);
    put_varint(out, number);
  };
  for (const OutputLength& length : position.lengths) {
    put(length.path, length.bytes);
    if (length.inode == 0) continue;
    put(kHash, length.last_hash);
    put(kInode, length.inode);
  }
  if (position.announced) put("", *position.announced);
  return out;
}

SinkPosition parse_sink_position(std::string_view position) {
  SinkPosition out;
  ByteReader in(position);
  while (in.ok() && !in.rest().empty()) {
    std::string path(in.string());
    const uint64_t number = in.varint();
    if (path.empty()) {
      out.announced = number;
    } else if (out.lengths.empty() || (path != kHash && path != kInode)) {
      out.lengths.push_back({std::move(path), number});
    } else {
      (path == kHash ? out.lengths.back().last_hash : out.lengths.back().inode) = number;
    }
  }
  return out;
}

absl::StatusOr<std::unique_ptr<OutputFile>> open_output(const std::string& path, bool resume,
                                                        const std::vector<OutputLength>& lengths) {
  if (path.empty()) return std::unique_ptr<OutputFile>();
  std::error_code ignored;
  if (!resume || path == "-" || !fs::exists(path, ignored)) return OutputFile::open(path);
  const OutputLength* length = find(lengths, path);
  return OutputFile::resume(path, length != nullptr ? length->bytes : 0);
}

bool outputs_support(const FilesSinkOptions& options, std::string_view position) {
  const SinkPosition written = parse_sink_position(position);
  for (const std::string& path : outputs_of(options)) {
    const OutputLength* length = find(written.lengths, path);
    std::error_code error;
    if (length == nullptr || !fs::is_regular_file(path, error)) continue;  // moved away: a new file begins
    if (fs::file_size(path, error) < length->bytes) return false;
  }
  return true;
}

absl::Status check_outputs_are_there(const FilesSinkOptions& options, std::string_view position,
                                     const std::string& state) {
  const SinkPosition written = parse_sink_position(position);
  for (const std::string& path : outputs_of(options)) {
    const OutputLength* length = find(written.lengths, path);
    if (length == nullptr) continue;
    std::error_code error;
    if (length->bytes > 0 && !fs::exists(path, error)) {
      return invalid(fmt::format(
          "{}: the file is gone, but the state in {} has written {} bytes to it and does not write them "
          "again: put it back, name another output for new events, or start with another state directory",
          path, state, length->bytes));
    }
    if (is_replaced(*length, path)) {
      return invalid(fmt::format(
          "{}: this is not the file to which the state in {} has written {} bytes, or somebody has changed "
          "these: put that file back, name another output for new events, or start with another state "
          "directory",
          path, state, length->bytes));
    }
  }
  return absl::OkStatus();
}

bool is_known_output(std::string_view position, const std::string& path) {
  return find(parse_sink_position(position).lengths, path) != nullptr;
}

std::string foreign_output(const FilesSinkOptions& options, std::string_view position) {
  for (const std::string& path : outputs_of(options)) {
    std::error_code error;
    if (!is_known_output(position, path) && fs::is_regular_file(path, error) &&
        fs::file_size(path, error) > 0)
      return path;
  }
  return {};
}

}  // namespace doppel
