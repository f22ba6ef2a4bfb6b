#include "records/shown_copy.h"

#include "base/bytes.h"

namespace doppel {

std::string encode_shown(const ShownCopy& copy) {
  std::string out;
  put_fixed<double>(out, copy.value);
  put_string(out, copy.event_id);
  put_string(out, copy.id == copy.event_id ? std::string_view() : copy.id);
  return out;
}

absl::Status decode_shown(std::string_view encoded, ShownCopy& out) {
  ByteReader in(encoded);
  out.value = in.fixed<double>();
  out.event_id = in.string();
  out.id = in.string();
  if (out.id.empty()) out.id = out.event_id;
  return in.done() ? absl::OkStatus() : absl::DataLossError("what is stored of a better copy is damaged");
}

}  // namespace doppel
