#pragma once
// What the index keeps of the copy that a cluster shows in place of its original, because it is better
// (output.best).

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel {

struct ShownCopy {  // views into the encoded form, or into the source of the values
  double value = 0;
  std::string_view event_id, id;
};

std::string encode_shown(const ShownCopy& copy);
absl::Status decode_shown(std::string_view encoded, ShownCopy& out);

}  // namespace doppel
