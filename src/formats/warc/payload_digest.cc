#include "formats/warc/payload_digest.h"

#include <algorithm>
#include <span>

#include "base/number.h"
#include "formats/body.h"
#include "formats/bytes/http.h"

namespace doppel {
namespace {

constexpr std::string_view kSha1 = "sha1:";
constexpr size_t kHexDigits = 40;

std::string base32(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string out;
  uint32_t open = 0;
  int bits = 0;
  for (const uint8_t byte : bytes) {
    open = open << 8 | byte;
    for (bits += 8; bits >= 5; bits -= 5) out += kDigits[open >> (bits - 5) & 31];
  }
  return out;
}

}  // namespace

std::string payload_digest(Sha1& payload) { return std::string(kSha1) + base32(payload.finish()); }

std::string sha1_of_header(std::string_view digest) {
  std::string_view name = digest.substr(0, digest.find(':') + 1);
  if (!equal_ignoring_case(name, kSha1) && !equal_ignoring_case(name, "sha-1:")) return {};
  const std::string_view value = digest.substr(name.size());
  const bool hex = value.size() == kHexDigits &&
                   std::all_of(value.begin(), value.end(), [](char c) { return hex_value(c) >= 0; });
  if (!hex) return std::string(kSha1) + std::string(value);
  std::string bytes;
  for (size_t i = 0; i < value.size(); i += 2)
    bytes += static_cast<char>(hex_value(value[i]) << 4 | hex_value(value[i + 1]));
  return std::string(kSha1) + base32({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

std::optional<size_t> payload_begin(const WarcRecord& record) {
  if (record.type == WarcType::resource || record.type == WarcType::conversion) return 0;
  if (record.type != WarcType::response) return std::nullopt;
  if (!equal_ignoring_case(media_type(record.content_type), "application/http")) return 0;
  const absl::StatusOr<HttpResponse> http = parse_http_response(record.block);
  if (!http.ok()) return std::nullopt;
  return record.block.size() - http->body.size();
}

std::string payload_digest_of(const WarcRecord& record, const RecordRest* rest) {
  std::string said = sha1_of_header(record.payload_digest);
  if (!said.empty()) return said;
  if (rest != nullptr) return rest->payload_digest;
  const std::optional<size_t> begin = payload_begin(record);
  if (!begin || record.block.size() != record.content_length) return {};
  Sha1 payload;
  payload.update(record.block.substr(*begin));
  return payload_digest(payload);
}

}  // namespace doppel
