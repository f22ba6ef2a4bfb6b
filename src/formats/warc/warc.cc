#include "formats/warc/warc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "base/reason.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/body.h"
#include "formats/bytes/http.h"

namespace doppel {
namespace {

// WARC/1.0 puts URIs in brackets (wget does), 1.1 does not.
std::string_view without_brackets(std::string_view uri) {
  if (uri.size() >= 2 && uri.front() == '<' && uri.back() == '>') return uri.substr(1, uri.size() - 2);
  return uri;
}

constexpr std::array<std::pair<std::string_view, WarcType>, 8> kTypes{
    {{"response", WarcType::response},
     {"resource", WarcType::resource},
     {"conversion", WarcType::conversion},
     {"revisit", WarcType::revisit},
     {"request", WarcType::request},
     {"metadata", WarcType::metadata},
     {"warcinfo", WarcType::warcinfo},
     {"continuation", WarcType::continuation}}};

constexpr uint64_t kMostContent = uint64_t{1} << 50;  // more than a file holds: the number is damaged

}  // namespace

bool begins_warc(std::string_view bytes) { return equal_ignoring_case(bytes.substr(0, 5), "WARC/"); }

std::vector<std::string_view> concurrent_to(std::string_view head) {
  std::vector<std::string_view> out;
  each_header(head.substr(std::min(head.size(), head.find('\n') + 1)),
              [&](std::string_view name, std::string_view value) {
                if (equal_ignoring_case(name, "WARC-Concurrent-To")) out.push_back(without_brackets(value));
              });
  return out;
}

bool has_warc_head(std::string_view bytes) {
  return bytes.find("\r\n\r\n") != std::string_view::npos || bytes.find("\n\n") != std::string_view::npos;
}

absl::StatusOr<WarcRecord> parse_warc_record(std::string_view bytes) {
  const size_t line = bytes.find('\n');
  if (!begins_warc(bytes) || line == std::string_view::npos) {
    return rejected(Reason::warc, ": no record starts here (\"WARC/1.0\" or \"WARC/1.1\" is expected)");
  }
  WarcRecord out;
  bool length = false;
  std::optional<std::string_view> rest =
      each_header(bytes.substr(line + 1), [&](std::string_view name, std::string_view value) {
        auto named = [&](std::string_view wanted) { return equal_ignoring_case(name, wanted); };
        if (named("Content-Length")) {
          const auto [end, error] =
              std::from_chars(value.data(), value.data() + value.size(), out.content_length);
          length = error == std::errc() && end == value.data() + value.size() &&
                   out.content_length <= kMostContent;
        } else if (named("Content-Type")) {
          out.content_type = value;
        } else if (name.size() < 5 || !equal_ignoring_case(name.substr(0, 5), "WARC-")) {
          return;
        } else if (named("WARC-Type")) {
          out.type_name = value;
        } else if (named("WARC-Record-ID")) {
          out.record_id = without_brackets(value);
        } else if (named("WARC-Target-URI")) {
          out.target_uri = without_brackets(value);
        } else if (named("WARC-Date")) {
          out.date = value;
        } else if (named("WARC-Payload-Digest")) {
          out.payload_digest = value;
        } else if (named("WARC-Refers-To")) {
          out.refers_to = without_brackets(value);
        } else if (named("WARC-Refers-To-Target-URI")) {
          out.refers_to_uri = without_brackets(value);
        } else if (named("WARC-Refers-To-Date")) {
          out.refers_to_date = value;
        } else if (named("WARC-Profile")) {
          out.profile = value;
        } else if (named("WARC-Truncated")) {
          out.truncated = value;
        }
      });
  if (!rest) return rejected(Reason::warc, ": no empty line ends the head of the record");
  if (!length) return rejected(Reason::warc, ": the record has no Content-Length, or an impossible one");
  for (const auto& [name, type] : kTypes) {
    if (equal_ignoring_case(out.type_name, name)) out.type = type;
  }
  out.head_bytes = static_cast<size_t>(rest->data() - bytes.data());
  out.block = rest->substr(0, out.content_length);
  return out;
}

absl::Status check_target(const WarcRecord& record, std::string_view url) {
  if (record.target_uri == url) return absl::OkStatus();
  return rejected(Reason::warc_mismatch, fmt::format(": the record is of {}, the message of {}",
                                                     record.target_uri.substr(0, 500), url.substr(0, 500)));
}

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

std::string sha1_digest(std::string_view digest) {
  constexpr size_t kBase32 = 32;
  std::string out = sha1_of_header(digest.find(':') == digest.npos ? std::string(kSha1) + std::string(digest)
                                                                   : std::string(digest));
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  const std::string_view value = std::string_view(out).substr(std::min(kSha1.size(), out.size()));
  const bool valid = value.size() == kBase32 && std::all_of(value.begin(), value.end(), [](char c) {
                       return (c >= 'A' && c <= 'Z') || (c >= '2' && c <= '7');
                     });
  return valid ? std::string(kSha1) + std::string(value) : std::string();
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
  std::string own = sha1_of_header(record.payload_digest);
  if (!own.empty()) return own;
  if (rest != nullptr) return rest->payload_digest;
  const std::optional<size_t> begin = payload_begin(record);
  if (!begin || record.block.size() != record.content_length) return {};
  Sha1 payload;
  payload.update(record.block.substr(*begin));
  return payload_digest(payload);
}

namespace {

// Browsertrix stores the text of a page as a separate resource, like other resources that are not documents.
constexpr std::string_view kTexts[] = {"urn:text:", "urn:textFinal:"};

bool is_http(std::string_view content_type) {
  return equal_ignoring_case(media_type(content_type), "application/http");
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::vector<WantedField> fields_of(const FormatOptions& options) {
  auto fields = wanted_fields(options);
  return fields.ok() ? *std::move(fields) : std::vector<WantedField>();
}

absl::Status cut_off(const WarcRecord& record) {
  return rejected(Reason::warc, fmt::format(": the record has {} bytes, but only {} are present",
                                            record.content_length, record.block.size()));
}

}  // namespace

WarcDecoder::WarcDecoder(const FormatOptions& options)
    : rules_(options),
      bodies_(options, PageIf::responses),
      max_bytes_(options.max_bytes == 0 ? SIZE_MAX / 4 : options.max_bytes),
      fields_(fields_of(options)),
      gathered_(fields_) {}

absl::Status WarcDecoder::decode(const Record& record, Document& out) {
  out = {};
  ASSIGN_OR_RETURN(WarcRecord warc, parse_warc_record(record.value));
  gathered_.clear();
  for (const WantedField& field : fields_) {
    std::optional<std::string_view> value = record_field(field, record);
    if (field.role == Role::scope) gathered_.add_scope(value);
    if (field.role == Role::tag && value) gathered_.add_tag(field.label, *value);
  }
  gathered_.put(out);
  out.id = warc.record_id;
  out.url = warc.target_uri;
  out.timestamp_ms = parse_time(warc.date);
  out.warc.emplace();
  if (record.warc) out.warc->filename = file_name(record.source);
  out.warc->offset = record.warc_offset;
  RETURN_IF_ERROR(take(warc, out));
  take_digest(warc, record.rest.get(), out);
  if (out.skip == Reason::too_large && record.rest == nullptr) return cut_off(warc);
  return out.skip == Reason::too_large ? too_large(warc, out) : absl::OkStatus();
}

absl::Status WarcDecoder::complete(std::string_view bytes, bool revisited, Document& out) {
  ASSIGN_OR_RETURN(WarcRecord warc, parse_warc_record(bytes));
  if (!out.warc) out.warc.emplace();
  if (!revisited) {
    RETURN_IF_ERROR(check_target(warc, out.url));
    RETURN_IF_ERROR(take(warc, out));
    return out.skip == Reason::too_large ? too_large(warc, out) : absl::OkStatus();
  }
  // The text comes from the other record, but the capture is this one.
  const WarcOrigin origin = *out.warc;
  RETURN_IF_ERROR(take(warc, out));
  if (out.skip == Reason::too_large) RETURN_IF_ERROR(too_large(warc, out));
  out.warc = origin;
  out.warc->target_uri = out.url;
  return absl::OkStatus();
}

// The payload digest decides whether the record is a duplicate; without one, it cannot be judged.
absl::Status WarcDecoder::too_large(const WarcRecord& record, Document& out) const {
  if (!out.payload_digest.empty()) return absl::OkStatus();
  return rejected(
      Reason::warc,
      fmt::format(": the record has {} bytes, too many to compare its text, and no payload digest",
                  record.content_length));
}

// Sets the digest in one form, if the record is compared by it. Computes it if the record has none and is
// complete.
void WarcDecoder::take_digest(const WarcRecord& record, const RecordRest* rest, Document& out) {
  const bool compared = out.skip == Reason::none || out.skip == Reason::too_large ||
                        out.skip == Reason::type || out.skip == Reason::binary;
  // For a conversion without a digest the text suffices to find duplicates; a resource made by the crawler
  // (urn:) has no payload.
  const bool computed = compared && (record.type != WarcType::conversion || rest != nullptr) &&
                        !record.target_uri.starts_with("urn:");
  digest_ = computed ? payload_digest_of(record, rest) : sha1_of_header(record.payload_digest);
  if (!digest_.empty()) out.payload_digest = digest_;
  if (record.payload_digest != out.payload_digest) out.warc->payload_digest = record.payload_digest;
}

absl::Status WarcDecoder::take(const WarcRecord& record, Document& out) {
  out.warc->record_id = record.record_id;
  out.warc->target_uri = record.target_uri;
  out.warc->date = record.date;
  if (out.payload_digest.empty()) out.payload_digest = record.payload_digest;
  switch (record.type) {
    case WarcType::response:
      return take_response(record, out);
    case WarcType::revisit:
      out.skip = Reason::revisit_unresolved;
      return absl::OkStatus();
    case WarcType::resource:
      out.content_type = record.content_type;
      for (std::string_view prefix : kTexts) {
        if (!record.target_uri.starts_with(prefix)) continue;
        out.url = record.target_uri.substr(prefix.size());
        return take_block({.bytes = record.block, .content_type = "text/plain", .charset = "utf-8"}, record,
                          out);
      }
      out.skip = record.target_uri.starts_with("urn:") ? Reason::type : Rules::skip_url(record.target_uri);
      if (out.skip == Reason::none) out.skip = rules_.skip_type(out.content_type);
      if (out.skip != Reason::none) return absl::OkStatus();
      return take_block({.bytes = record.block, .content_type = record.content_type}, record, out);
    case WarcType::conversion:
      out.content_type = record.content_type;
      out.skip = rules_.skip_type(out.content_type);
      if (out.skip != Reason::none) return absl::OkStatus();
      return take_block({.bytes = record.block, .content_type = record.content_type}, record, out);
    default:
      out.skip = Reason::record_type;
      return absl::OkStatus();
  }
}

absl::Status WarcDecoder::take_response(const WarcRecord& record, Document& out) {
  out.skip = Rules::skip_url(record.target_uri);
  if (out.skip != Reason::none) return absl::OkStatus();
  BodyBytes body{.bytes = record.block, .content_type = record.content_type};
  if (is_http(record.content_type)) {
    ASSIGN_OR_RETURN(HttpResponse http, parse_http_response(record.block));
    out.content_type = http.content_type;
    out.skip = rules_.skip_status(http.status);
    if (out.skip == Reason::none) out.skip = rules_.skip_type(out.content_type);
    if (out.skip != Reason::none) return absl::OkStatus();
    body = {.bytes = http.body, .content_type = http.content_type};
    if (record.block.size() == record.content_length) {
      if (equal_ignoring_case(http.transfer_encoding, "chunked") && decode_chunked(body.bytes, chunks_))
        body.bytes = chunks_;
      ASSIGN_OR_RETURN(body.bytes, decode_content(body.bytes, http.content_encoding, max_bytes_, content_));
    }
  } else {
    out.content_type = record.content_type;
    out.skip = rules_.skip_type(out.content_type);
    if (out.skip != Reason::none) return absl::OkStatus();
  }
  return take_block(body, record, out);
}

absl::Status WarcDecoder::take_block(BodyBytes body, const WarcRecord& record, Document& out) {
  if (record.block.size() == record.content_length) return take_body(body, out);
  out.skip = Reason::too_large;
  return absl::OkStatus();
}

absl::Status WarcDecoder::take_body(BodyBytes body, Document& out) {
  if (looks_binary(body.bytes)) {
    out.skip = Reason::binary;
    return absl::OkStatus();
  }
  return bodies_.read(body, out);
}

}  // namespace doppel
