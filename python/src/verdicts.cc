#include "verdicts.h"

#include <limits>

namespace doppel::python {

void Verdicts::add(std::string_view name, const Outcome& outcome, std::string_view original_name) {
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  verdict.push_back(static_cast<uint8_t>(outcome.verdict));
  kind.push_back(static_cast<uint8_t>(outcome.kind));
  similarity.push_back(duplicate ? similarity_ppm(outcome.similarity) / 1e6
                                 : std::numeric_limits<double>::quiet_NaN());
  id.add(name);
  original.add(duplicate ? original_name : std::string_view());
}

}  // namespace doppel::python
