#pragma once
// The bearer token that permits changes.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel::http {

// Reads the token from the environment variable if it is set, otherwise from the first line of the file.
// Without either it is empty. InvalidArgument: the file cannot be read, or the token is too short or has
// other characters than printable ASCII. The message names `setting` or the variable.
absl::StatusOr<std::string> load_token(const std::string& setting, const std::string& file,
                                       const std::string& variable);

// Whether the Authorization header contains "Bearer TOKEN". The comparison's time does not depend on the
// token.
bool bearer_is(std::string_view authorization, std::string_view token);

}  // namespace doppel::http
