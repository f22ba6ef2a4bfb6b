#pragma once
// The secret word that allows writing.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel::http {

// From the environment variable if it is set, else from the first line of the file, else none ("").
// An unreadable file, or a token that is too short to be one, is an error that names `setting`.
absl::StatusOr<std::string> load_token(const std::string& setting, const std::string& file,
                                       const std::string& variable);

// Does the Authorization header hold "Bearer TOKEN"? Takes as long for a wrong token as for the right one.
bool bearer_is(std::string_view authorization, std::string_view token);

}  // namespace doppel::http
