#include "records/revisits.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <xxhash.h>

#include <algorithm>

#include "base/status.h"
#include "formats/bytes/http.h"
#include "formats/decoder.h"
#include "formats/json/json_value.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kProfile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

// Returns "" if there is no string.
std::string_view text_at(dom::element element, const char* pointer) {
  std::string_view out;
  if (element.at_pointer(pointer).get(out) != simdjson::SUCCESS) out = {};
  return out;
}

std::string_view first_of(std::string_view a, std::string_view b) { return a.empty() ? b : a; }

// Depends only on the event, so that runs are reproducible.
std::string record_id(std::string_view event_id) {
  const XXH128_hash_t hash = XXH3_128bits(event_id.data(), event_id.size());
  const uint64_t high = (hash.high64 & ~uint64_t{0xf000}) | 0x8000;              // version 8
  const uint64_t low = (hash.low64 & ~(uint64_t{3} << 62)) | uint64_t{2} << 62;  // variant
  return fmt::format("urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffff);
}

// The headers of the replaced record that a revisit record does not copy.
constexpr std::string_view kReplaced[] = {
    "WARC-Type",           "WARC-Profile",      "WARC-Refers-To",      "WARC-Refers-To-Target-URI",
    "WARC-Refers-To-Date", "WARC-Block-Digest", "WARC-Payload-Digest", "Content-Length"};

void append_reference(std::string& out, std::string_view id, std::string_view uri, std::string_view date) {
  out += fmt::format("WARC-Profile: {}\r\n", kProfile);
  if (!id.empty()) out += fmt::format("WARC-Refers-To: <{}>\r\n", id);
  out += fmt::format("WARC-Refers-To-Target-URI: {}\r\nWARC-Refers-To-Date: {}\r\n", uri, date);
}

NamedRecord named_record(dom::element record) {
  NamedRecord out{
      .file = std::string(text_at(record, "/file")),
      .filename = std::string(text_at(record, "/warc/filename")),
      .offset = std::nullopt,
      .record_id = std::string(text_at(record, "/warc/record_id")),
      .target_uri = std::string(first_of(text_at(record, "/warc/target_uri"), text_at(record, "/url"))),
      .date = std::string(first_of(text_at(record, "/warc/date"), text_at(record, "/date"))),
      .digest = std::string(text_at(record, "/digest")),
      .written_digest = std::string(text_at(record, "/warc/payload_digest"))};
  uint64_t offset = 0;
  if (record.at_pointer("/warc/offset").get(offset) == simdjson::SUCCESS) out.offset = offset;
  return out;
}

bool has_line_end(std::string_view value) {
  return value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::optional<PayloadCopy>> payload_copy_of_event(std::string_view event) {
  dom::parser parser;
  dom::element root;
  const simdjson::padded_string json(event);
  if (auto error = parser.parse(json).get(root)) return not_json(error);
  const std::string_view type = text_at(root, "/type");
  if (type.empty())
    return invalid("not an event; scan (without --all and --clusters) and serve write events");
  if (type != "duplicate-of") return std::nullopt;
  bool same_payload = false;
  if (root.at_pointer("/relation/same_payload").get(same_payload) != simdjson::SUCCESS || !same_payload)
    return std::nullopt;
  dom::element document, original;
  if (root["document"].get(document) != simdjson::SUCCESS ||
      root["original"].get(original) != simdjson::SUCCESS)
    return std::nullopt;
  PayloadCopy out{named_record(document), named_record(original), std::string(text_at(root, "/event_id"))};
  if (out.copy.digest.empty() || out.copy.digest != out.original.digest) return std::nullopt;
  for (const NamedRecord* record : {&out.copy, &out.original}) {
    if (record->target_uri.empty() || record->date.empty())
      return invalid("the event lacks a URL or a date of one of its records");
    for (const std::string* value :
         {&record->target_uri, &record->date, &record->record_id, &record->digest, &record->written_digest}) {
      if (has_line_end(*value)) return invalid("a value of the event contains a line end");
    }
  }
  return out;
}

std::optional<OtherCopy> other_copy_of_event(std::string_view event) {
  dom::parser parser;
  dom::element root;
  const simdjson::padded_string json(event);
  if (parser.parse(json).get(root) != simdjson::SUCCESS || text_at(root, "/type") != "duplicate-of")
    return std::nullopt;
  return OtherCopy{std::string(text_at(root, "/document/url")),
                   std::string(text_at(root, "/document/content_type"))};
}

std::string revisit_record(const NamedRecord& copy, const NamedRecord& original, std::string_view name) {
  std::string out = fmt::format(
      "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Record-ID: <{}>\r\nWARC-Date: {}\r\nWARC-Target-URI: {}\r\n"
      "WARC-Payload-Digest: {}\r\n",
      record_id(name), copy.date, copy.target_uri, first_of(original.written_digest, copy.digest));
  append_reference(out, original.record_id, original.target_uri, original.date);
  return out + "Content-Length: 0\r\n\r\n\r\n\r\n";
}

PayloadGroups::Capture NamedRecord::capture() const {
  std::string name = record_id;
  if (name.empty()) name = offset ? fmt::format("{} {}", file, *offset) : target_uri + ' ' + date;
  return {XXH3_64bits(name.data(), name.size()), parse_time(date)};
}

bool NamedRecord::is(const WarcRecord& record) const {
  // If the record has no SHA-1, the event has the one that was computed when it was read.
  const std::string sha1 = sha1_of_header(record.payload_digest);
  return record.target_uri == target_uri &&
         (sha1.empty() || sha1 == digest || record.payload_digest == digest) &&
         (record_id.empty() || record.record_id == record_id);
}

bool is_verdict_line(std::string_view line) {
  if (line.find("\"verdict\"") == std::string_view::npos) return false;
  dom::parser parser;
  dom::element root;
  const simdjson::padded_string json(line);
  return parser.parse(json).get(root) == simdjson::SUCCESS && !text_at(root, "/verdict").empty() &&
         text_at(root, "/type").empty();
}

absl::StatusOr<std::string> revisit_of_record(std::string_view head, std::string_view http_head,
                                              const WarcRecord& original, std::string_view digest) {
  for (const std::string_view value :
       {original.record_id, original.target_uri, original.date, original.payload_digest}) {
    if (has_line_end(value)) return invalid("a value of the original's head contains a line end");
  }
  std::string out = "WARC/1.1\r\nWARC-Type: revisit\r\n";
  each_header(head.substr(std::min(head.size(), head.find('\n') + 1)), [&](std::string_view name,
                                                                           std::string_view value) {
    for (const std::string_view replaced : kReplaced) {
      if (equal_ignoring_case(name, replaced)) return;
    }
    // WARC/1.0 puts the URI in brackets.
    if (equal_ignoring_case(name, "WARC-Target-URI") && value.starts_with('<') && value.ends_with('>'))
      value = value.substr(1, value.size() - 2);
    out += fmt::format("{}: {}\r\n", name, value);
  });
  out += fmt::format("WARC-Payload-Digest: {}\r\n", first_of(original.payload_digest, digest));
  append_reference(out, original.record_id, original.target_uri, original.date);
  return out + fmt::format("Content-Length: {}\r\n\r\n{}\r\n\r\n", http_head.size(), http_head);
}

}  // namespace doppel
