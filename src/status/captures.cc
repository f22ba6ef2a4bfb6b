#include "status/captures.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "base/status.h"
#include "formats/warc/cdxj.h"
#include "formats/warc/warc.h"
#include "records/metadata.h"

namespace doppel {
namespace {

// By the key of CDX servers, which is the same for http and https, upper and lower case, with www and
// without.
uint64_t hash_of(std::string_view url) {
  const std::string key = surt(url);
  return absl::HashOf(key.empty() ? absl_sv(url) : absl::string_view(key));
}

}  // namespace

void Captures::observe(const Decided& decided) {
  for (size_t i = 0; i < decided.batch.records.size(); ++i) {
    const Record& record = decided.batch.records[i];
    if (!record.warc) continue;
    Metadata m;
    if (!decode_metadata(decided.work.sign.documents[i].metadata, m).ok() || m.url.empty() || !m.date_ms)
      continue;
    const std::string digest = sha1_digest(m.payload_digest);
    if (digest.empty()) continue;
    const auto parsed = parse_warc_record(record.value);
    if (!parsed.ok() || parsed->type == WarcType::revisit) continue;
    Capture capture{.date_ms = *m.date_ms};
    const std::string_view letters = std::string_view(digest).substr(digest.find(':') + 1);
    std::copy_n(letters.begin(), std::min(letters.size(), capture.digest.size()), capture.digest.begin());
    add(m.url, capture);
  }
}

void Captures::add(std::string_view url, const Capture& capture) {
  const uint64_t key = hash_of(url);
  const std::lock_guard lock(mutex_);
  if (young_.size() >= most_ / 2) {
    old_ = std::exchange(young_, {});
  }
  const auto [place, fresh] = young_.try_emplace(key);
  if (fresh || place->second.date_ms <= capture.date_ms) place->second = capture;
}

std::optional<Capture> Captures::last(std::string_view url) const {
  const uint64_t key = hash_of(url);
  const std::lock_guard lock(mutex_);
  const auto young = young_.find(key), old = old_.find(key);
  if (young == young_.end()) return old == old_.end() ? std::nullopt : std::optional(old->second);
  if (old == old_.end() || old->second.date_ms <= young->second.date_ms) return young->second;
  return old->second;
}

}  // namespace doppel
