#pragma once
// The "name=value" lines that an index was made with, compared by name.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/settings.h"
#include "engine/sign.h"

namespace doppel {

// Views into `lines`.
using SchemeValues = std::map<std::string_view, std::string_view>;
SchemeValues scheme_values(std::string_view lines);

// The same lines in the names and units of settings: threshold_ppm=800000 is threshold, .8. A passage is
// known in words only beside shingle_words.
std::map<std::string, std::string> scheme_settings(std::string_view lines);

// What such lines say of the settings of an index.
class StoredSettings {
 public:
  explicit StoredSettings(std::string_view lines) : values_(scheme_settings(lines)) {}

  // As text_of() has it. Nothing if there is no index, or if it has no such setting.
  std::optional<std::string> text(const IndexSetting& setting) const;
  std::optional<uint64_t> number(const std::string& name) const;

 private:
  const std::map<std::string, std::string> values_;
};

// One line for every setting whose value differs: "num_perm: the index was made with 128, now 64". If only
// one of them has relations, one line says so for all settings of relations.
std::vector<std::string> scheme_differences(std::string_view stored, std::string_view now);

// The stored line with the same name as `line`.
std::optional<std::string> scheme_line(std::string_view stored, std::string_view line);

// Like scheme_differences(), for the scheme of signed records and the one that this run expects.
std::vector<std::string> signed_differences(std::string_view signed_with, std::string_view now);

// Like scheme_differences(), for rules, without the names in `accepted`, which may be those of lines, too.
// Bands and rows cannot be accepted, because stored data depends on them. max_memory is converted to
// documents_in_memory, which depends on the buffers, once, when an index is made. So other buffers are not a
// difference, but another max_memory is.
std::vector<std::string> rule_differences(std::string_view stored, std::string_view now,
                                          const std::vector<std::string>& accepted);

// Returns `now`, if no difference is refused, with the documents_in_memory in force: the stored one as long
// as max_memory is unchanged. Earlier versions stored it as max_documents, without max_memory; that stays
// in force, too, unless max_memory is accepted by name.
std::string rule_in_force(std::string_view stored, std::string_view now,
                          const std::vector<std::string>& accepted);

// FailedPrecondition if there are differences: `what`, and one line for each.
absl::Status refuse_differences(const std::string& what, const std::vector<std::string>& differences);
// Whether the error is one of these: another start with the same settings cannot help.
bool says_differences(const absl::Status& status);

// Returns `now` with those lines of `stored`, the scheme of an index, that tell how texts were made from
// records. FailedPrecondition if other lines differ.
absl::StatusOr<Scheme> scheme_of_index(Scheme now, std::string_view stored);

}  // namespace doppel
