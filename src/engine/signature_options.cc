#include "engine/signature_options.h"

#include <string>

#include "base/status.h"
#include "engine/limits.h"

namespace doppel {
namespace {

absl::Status differs(const std::string& name, const std::string& ours, const std::string& theirs) {
  return invalid(name + ": " + theirs + ", but " + ours +
                 " here; signatures can be compared only if they have the same options");
}

}  // namespace

absl::Status check_signature_options(const SignatureOptions& o) {
  RETURN_IF_ERROR(within(limits::kNumPerm, o.num_perm));
  return within(limits::kShingleWords, o.shingle_words);
}

absl::Status check_same_options(const SignatureOptions& ours, const SignatureOptions& theirs) {
  const auto sketch = [](bool classic) { return std::string(classic ? "true" : "false"); };
  if (ours.num_perm != theirs.num_perm)
    return differs("num_perm", std::to_string(ours.num_perm), std::to_string(theirs.num_perm));
  if (ours.shingle_words != theirs.shingle_words)
    return differs("shingle_words", std::to_string(ours.shingle_words), std::to_string(theirs.shingle_words));
  if (ours.classic != theirs.classic) return differs("classic", sketch(ours.classic), sketch(theirs.classic));
  if (ours.hash_key[0] != theirs.hash_key[0] || ours.hash_key[1] != theirs.hash_key[1])
    return differs("hash_key", "another one", "one key");
  return absl::OkStatus();
}

}  // namespace doppel
