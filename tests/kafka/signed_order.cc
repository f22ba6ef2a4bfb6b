#include "kafka/signed_order.h"

#include <fmt/format.h>

#include <map>

#include "engine/signed_record.h"
#include "open/setup.h"
#include "pipeline/sign_record.h"

namespace doppel::testing {

std::vector<std::string> check_signed_order(const std::vector<Message>& order, const Options& options,
                                            const HashKey& key, size_t& documents) {
  std::vector<std::string> out;
  std::map<std::pair<std::string, int32_t>, uint64_t> expected;
  const Scheme scheme = engine_options(options, key).value().scheme;
  std::vector<uint8_t> slices(scheme.num_perm);
  for (const Message& m : order) {
    SignedOrigin origin;
    SignedDocument document;
    const absl::Status status = decode_signed_record(*m.value, scheme_fingerprint(scheme), scheme.num_perm,
                                                     origin, document, slices.data());
    if (!status.ok()) {
      out.push_back(fmt::format("offset {}: {}", m.offset, status.ToString()));
      continue;
    }
    uint64_t& next = expected[{std::string(origin.source), origin.partition}];
    // The ranges of the inputs leave no gap.
    if (origin.begin != next || origin.end != next + 1)
      out.push_back(fmt::format("offset {}: signed from {}/{}, {} to {}, expected {}", m.offset,
                                origin.source, origin.partition, origin.begin, origin.end, next));
    next = origin.end;
  }
  documents = 0;
  for (const auto& [place, next] : expected) documents += next;
  return out;
}

}  // namespace doppel::testing
