#include "engine/resolved.h"

#include <algorithm>

namespace doppel {

std::optional<Relation> strongest_relation(const Outcome& outcome) {
  std::optional<Relation> out;
  for (const Related& related : outcome.related)
    out = std::min(out.value_or(related.relation), related.relation);
  return out;
}

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

std::vector<Shown> Resolved::shown() const {
  std::vector<Shown> out;
  out.reserve(better.size());
  for (const BetterCopy& each : better) out.push_back({each.seq, each.copy});
  return out;
}

void Resolved::clear() {
  outcomes.clear();
  rows.clear();
  places.clear();
  removed.clear();
  better.clear();
  listings_capped = 0;
  prints_capped = 0;
}

}  // namespace doppel
