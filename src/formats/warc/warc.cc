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
        auto is = [&](std::string_view wanted) { return equal_ignoring_case(name, wanted); };
        if (is("Content-Length")) {
          const auto [end, error] =
              std::from_chars(value.data(), value.data() + value.size(), out.content_length);
          length = error == std::errc() && end == value.data() + value.size() &&
                   out.content_length <= kMostContent;
        } else if (is("Content-Type")) {
          out.content_type = value;
        } else if (name.size() < 5 || !equal_ignoring_case(name.substr(0, 5), "WARC-")) {
          return;
        } else if (is("WARC-Type")) {
          out.type_name = value;
        } else if (is("WARC-Record-ID")) {
          out.record_id = without_brackets(value);
        } else if (is("WARC-Target-URI")) {
          out.target_uri = without_brackets(value);
        } else if (is("WARC-Date")) {
          out.date = value;
        } else if (is("WARC-Payload-Digest")) {
          out.payload_digest = value;
        } else if (is("WARC-Refers-To")) {
          out.refers_to = without_brackets(value);
        } else if (is("WARC-Refers-To-Target-URI")) {
          out.refers_to_uri = without_brackets(value);
        } else if (is("WARC-Refers-To-Date")) {
          out.refers_to_date = value;
        } else if (is("WARC-Profile")) {
          out.profile = value;
        } else if (is("WARC-Truncated")) {
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
