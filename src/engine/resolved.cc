#include "engine/resolved.h"

namespace doppel {

std::string_view removal_reason_name(RemovalReason reason) {
  switch (reason) {
    case RemovalReason::removed:
      return "removed";
    case RemovalReason::replaced:
      return "replaced";
    case RemovalReason::forgotten:
      return "forgotten";
    case RemovalReason::expired:
      return "expired";
    case RemovalReason::evicted:
      return "evicted";
  }
  return "";
}

std::vector<Seq> Resolved::removed_numbers() const {
  std::vector<Seq> out;
  out.reserve(removed.size());
  for (const Removed& r : removed) out.push_back(r.seq);
  return out;
}

void Resolved::clear() {
  outcomes.clear();
  rows.clear();
  places.clear();
  removed.clear();
  listings_capped = 0;
  prints_capped = 0;
}

}  // namespace doppel
