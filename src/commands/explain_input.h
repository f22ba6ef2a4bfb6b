#pragma once
// Finds the two documents that are to be explained.

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/places.h"
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

// Two documents of one file or directory by their ids, URLs, or event_ids ("crawl.jsonl/1234"). The same id
// twice means its first two documents. The error names the nearest id. In a directory `outputs` are not read.
absl::StatusOr<ExplainPair> two_ids(const std::string& path, const std::string& a, const std::string& b,
                                    const FormatOptions& format, const std::vector<NamedPath>& outputs);

struct FoundDocument {
  std::string name, url, text;
  std::string text_source;  // Document::text_source
};
// All documents of files and directories, in their order; what can be read, if anything can.
absl::StatusOr<std::vector<FoundDocument>> documents_of(const std::vector<std::string>& paths,
                                                        const FormatOptions& format);
// Those with these ids or URLs, in the order of the names; the first of each.
absl::StatusOr<std::vector<FoundDocument>> documents_named(const std::vector<std::string>& paths,
                                                           const std::vector<std::string>& names,
                                                           const FormatOptions& format);

}  // namespace doppel
