#pragma once
// Lines of "name=value": what an index was made with, compared by name.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sign.h"

namespace doppel {

// Views into the lines.
using SchemeValues = std::map<std::string_view, std::string_view>;
SchemeValues scheme_values(std::string_view lines);

// One line for every name whose value differs: "num_perm: the index was made with 128, now 64".
std::vector<std::string> scheme_differences(std::string_view stored, std::string_view now);

// The stored line with the name of `line`.
std::optional<std::string> scheme_line(std::string_view stored, std::string_view line);

// The same of what a document was signed with, and of what this run expects.
std::vector<std::string> signed_differences(std::string_view signed_with, std::string_view now);

// The same without the names that are accepted. Bands and rows shape what is stored: they are never accepted.
// max_memory is turned into documents_in_memory by way of the buffers, once, when an index is made: other
// buffers are no difference, another max_memory is one, by that name.
std::vector<std::string> rule_differences(std::string_view stored, std::string_view now,
                                          const std::vector<std::string>& accepted);

// `now`, where nothing that differs is refused, with the documents_in_memory that is in force: as long as
// max_memory is the same, that which was stored. Earlier versions stored it as max_documents, without
// max_memory: it holds too, unless max_memory is accepted by name.
std::string rule_in_force(std::string_view stored, std::string_view now,
                          const std::vector<std::string>& accepted);

// FailedPrecondition if anything differs: `what`, and a line for each difference.
absl::Status refuse_differences(const std::string& what, const std::vector<std::string>& differences);

// `now` with the lines of `stored`, an index, that say how its texts were made of records.
// FailedPrecondition: other lines differ.
absl::StatusOr<Scheme> scheme_of_index(Scheme now, std::string_view stored);

}  // namespace doppel
