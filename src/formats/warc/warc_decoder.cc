#include "formats/warc/warc_decoder.h"

#include <fmt/format.h>

#include "base/reason.h"
#include "base/status.h"
#include "formats/bytes/http.h"
#include "formats/warc/warc.h"

namespace doppel {
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
