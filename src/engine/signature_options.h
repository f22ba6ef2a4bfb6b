#pragma once
// Checks which signatures can be made, and which can be compared.

#include "absl/status/status.h"
#include "doppel/signature.h"

namespace doppel {

// InvalidArgument names the option that is out of range.
absl::Status check_signature_options(const SignatureOptions& options);

// Returns InvalidArgument unless both are equal. The error names the first option that differs, and both
// values, but never shows a key.
absl::Status check_same_options(const SignatureOptions& ours, const SignatureOptions& theirs);

}  // namespace doppel
