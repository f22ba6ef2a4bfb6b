#pragma once
// A CDXJ file of the captures in the WARC files that were read, as pywb and other players look them up.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "pipeline/stream.h"

namespace doppel {

class CdxjOutput {
 public:
  // How long each file is, by the name that its records give as their source: for the last record's length.
  explicit CdxjOutput(absl::flat_hash_map<std::string, uint64_t> sizes) : sizes_(std::move(sizes)) {}

  // Batches in the order of the stream. Records that do not begin a member of a packed file have no line.
  void add(const Batch& batch);
  // Sorted by bytes; written beside the name and renamed.
  absl::Status write(const std::string& path);
  uint64_t lines() const { return lines_.size(); }
  // Captures that do not begin a member of their file, which have no line, and the file of the first.
  uint64_t without_line() const { return without_line_; }
  const std::string& first_without_line() const { return first_without_line_; }
  // Captures without URI or date, or whose key would hold white space, and the URI of the first.
  uint64_t without_key() const { return without_key_; }
  const std::string& first_without_key() const { return first_without_key_; }

 private:
  void end_last(uint64_t end);

  absl::flat_hash_map<std::string, uint64_t> sizes_;
  std::vector<std::string> lines_;
  uint64_t without_line_ = 0;
  std::string first_without_line_;
  uint64_t without_key_ = 0;
  std::string first_without_key_;
  bool open_ = false;  // the last line has no length yet
  uint64_t offset_ = 0;
  std::string source_, filename_;
};

}  // namespace doppel
