#include "formats/revisits.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <xxhash.h>

#include "base/status.h"
#include "formats/decoder.h"
#include "formats/json_value.h"

namespace doppel {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kProfile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

// Empty where there is no string.
std::string_view text_at(dom::element element, const char* pointer) {
  std::string_view out;
  if (element.at_pointer(pointer).get(out) != simdjson::SUCCESS) out = {};
  return out;
}

std::string_view first_of(std::string_view a, std::string_view b) { return a.empty() ? b : a; }

// The same for the same event, so that a run can be repeated.
std::string record_id(std::string_view event_id) {
  const XXH128_hash_t hash = XXH3_128bits(event_id.data(), event_id.size());
  const uint64_t high = (hash.high64 & ~uint64_t{0xf000}) | 0x8000;              // version 8
  const uint64_t low = (hash.low64 & ~(uint64_t{3} << 62)) | uint64_t{2} << 62;  // variant
  return fmt::format("urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffff);
}

}  // namespace

absl::StatusOr<std::string> revisit_of_event(std::string_view event) {
  dom::parser parser;
  dom::element root;
  const simdjson::padded_string json(event);
  if (auto error = parser.parse(json).get(root)) return not_json(error);
  if (text_at(root, "/type") != "duplicate-of") return std::string();
  bool same_payload = false;
  if (root.at_pointer("/relation/same_payload").get(same_payload) != simdjson::SUCCESS || !same_payload)
    return std::string();
  const std::string_view digest = text_at(root, "/document/digest");
  if (digest.empty() || digest != text_at(root, "/original/digest")) return std::string();

  const std::string_view url =
      first_of(text_at(root, "/document/warc/target_uri"), text_at(root, "/document/url"));
  const std::string_view date =
      first_of(text_at(root, "/document/warc/date"), text_at(root, "/document/date"));
  const std::string_view id = text_at(root, "/original/warc/record_id");
  const std::string_view uri =
      first_of(text_at(root, "/original/warc/target_uri"), text_at(root, "/original/url"));
  const std::string_view when =
      first_of(text_at(root, "/original/warc/date"), text_at(root, "/original/date"));
  if (url.empty() || date.empty() || uri.empty() || when.empty())
    return invalid("the event does not say both URLs and both dates");
  for (const std::string_view value : {url, date, id, uri, when, digest}) {
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
      return invalid("a value of the event has a line end in it");
  }
  std::string out = fmt::format(
      "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Record-ID: <{}>\r\nWARC-Date: {}\r\nWARC-Target-URI: {}\r\n"
      "WARC-Payload-Digest: {}\r\nWARC-Profile: {}\r\n",
      record_id(text_at(root, "/event_id")), date, url, digest, kProfile);
  if (!id.empty()) out += fmt::format("WARC-Refers-To: <{}>\r\n", id);
  out += fmt::format(
      "WARC-Refers-To-Target-URI: {}\r\nWARC-Refers-To-Date: {}\r\nContent-Length: 0\r\n\r\n\r\n\r\n", uri,
      when);
  return out;
}

}  // namespace doppel
