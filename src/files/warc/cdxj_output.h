#pragma once
// Writes a CDXJ index of the captures in the WARC files that were read, for pywb and other players. The key
// of an answer to a POST or PUT request contains what was sent (post_query.h), if the request is the record
// before or behind it and the two name each other.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "formats/warc/post_query.h"
#include "pipeline/stream.h"

namespace doppel {

class CdxjOutput {
 public:
  // `sizes` are the sizes of the files, by the source of their records. They give the length of each last
  // record.
  explicit CdxjOutput(absl::flat_hash_map<std::string, uint64_t> sizes) : sizes_(std::move(sizes)) {}

  // Adds batches in the order of the stream. A record that does not begin a member of a compressed file
  // gets no line.
  void add(const Batch& batch);
  // Writes the lines sorted by bytes, under a temporary name that is then renamed.
  absl::Status write(const std::string& path);
  uint64_t lines() const { return lines_.size(); }
  // Captures without a line because they do not begin a member, and the file of the first one.
  uint64_t without_line() const { return without_line_; }
  const std::string& first_without_line() const { return first_without_line_; }
  // Captures without a line because they lack URI or date, or their key would contain white space, and the
  // URI of the first one.
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
  bool open_ = false;  // the last line still lacks its length
  // The record before, of which the next one may be the request or the answer.
  struct Exchange {
    bool request = false;
    std::string id, uri, concurrent_to;
    std::optional<PostQuery> query;  // of a request
  };
  void join(const WarcRecord& record, std::string_view head);
  std::optional<Exchange> before_;
  std::optional<PostQuery> sent_;  // for the last line
  std::string answered_uri_;       // of the last line
  uint64_t offset_ = 0;
  std::string source_, filename_;
};

}  // namespace doppel
