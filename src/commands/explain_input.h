#pragma once
// Finds the two documents that are to be explained.

#include <array>
#include <string>

#include "absl/status/statusor.h"
#include "formats/decoder.h"

namespace doppel {

struct ExplainInput {
  std::string name;  // the file's path, or the id
  std::string text, scope;
};
using ExplainPair = std::array<ExplainInput, 2>;

// Two files of one document each (a line of JSON, or any other file as it is); - is stdin.
absl::StatusOr<ExplainPair> two_files(const std::string& a, const std::string& b,
                                      const FormatOptions& format);

// Two documents of one file or directory by their ids (or by event_id: "crawl.jsonl/1234"). The same id twice
// means its first two documents. The error names the nearest id.
absl::StatusOr<ExplainPair> two_ids(const std::string& path, const std::string& a, const std::string& b,
                                    const FormatOptions& format);

}  // namespace doppel
