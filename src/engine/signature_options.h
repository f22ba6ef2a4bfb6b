#pragma once
// Which signatures can be made, and which compare.

#include "absl/status/status.h"
#include "doppel/signature.h"

namespace doppel {

// InvalidArgument: names the option that is out of its range.
absl::Status check_signature_options(const SignatureOptions& options);

// InvalidArgument unless both are the same: names the first option that differs, and both values. Never shows
// a key.
absl::Status check_same_options(const SignatureOptions& ours, const SignatureOptions& theirs);

}  // namespace doppel
