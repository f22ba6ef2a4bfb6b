#pragma once
// Finds the documents for `doppel explain` and `doppel text`.

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

// Reads two files with one document each: a line of JSON, or any other file as a whole. - is stdin.
absl::StatusOr<ExplainPair> two_files(const std::string& a, const std::string& b,
                                      const FormatOptions& format);

// Finds two documents of one file or directory by their ids, URLs or event_ids ("crawl.jsonl/1234"). The same
// id twice means its first two documents. The error names the most similar id. `outputs` in a directory are
// not read.
absl::StatusOr<ExplainPair> two_ids(const std::string& path, const std::string& a, const std::string& b,
                                    const FormatOptions& format, const std::vector<NamedPath>& outputs);

struct FoundDocument {
  std::string name, url, text;
  std::string text_source;  // Document::text_source
};
// Returns all documents of files and directories in order. Fails only if none can be read.
absl::StatusOr<std::vector<FoundDocument>> documents_of(const std::vector<std::string>& paths,
                                                        const FormatOptions& format);
// Returns the first document for each of these ids or URLs, in the order of `names`.
absl::StatusOr<std::vector<FoundDocument>> documents_named(const std::vector<std::string>& paths,
                                                           const std::vector<std::string>& names,
                                                           const FormatOptions& format);

}  // namespace doppel
