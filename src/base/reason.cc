#include "base/reason.h"

#include <iterator>

namespace doppel {
namespace {

constexpr ReasonInfo kReasons[] = {
    {Reason::not_json, "not JSON", "not_json", true},
    {Reason::not_encoded, "not encoded", "not_encoded", true},
    {Reason::schema_registry_encoded, "schema_registry_encoded", "schema_registry_encoded", true},
    {Reason::not_framed, "not_framed", "not_framed", true},
    {Reason::schema_unknown, "schema_unknown", "schema_unknown", true},
    {Reason::schema_unusable, "schema_unusable", "schema_unusable", true},
    {Reason::avro, "avro", "avro", true},
    {Reason::charset, "charset", "charset", true, false, true},
    {Reason::bad_text, "text: field", "bad_text", true},
    {Reason::no_text, "text: ", "no_text", true},
    {Reason::no_page_text, "pages without text", "no_text", true},
    {Reason::too_large, "too_large", "too_large", true},
    {Reason::content_encoding, "content-encoding", "content_encoding", true},
    {Reason::html, "html", "html", true},
    {Reason::http, "http", "http", true},
    {Reason::warc_mismatch, "warc_mismatch", "warc_mismatch", true},
    {Reason::warc, "warc", "warc", true},
    {Reason::fetch_failed, "fetch_failed", "fetch_failed", true, true},
    {Reason::other_scheme, "signed with another data scheme or hash key", "other_scheme", true},
    {Reason::without_set, "signed without its set", "without_set", true},
    {Reason::no_signed_record, "no signed record", "no_signed_record", true},
    {Reason::bad_signed_record, "a signed record", "no_signed_record", true},
    {Reason::metadata_too_long, "id, url and other metadata", "metadata_too_long", true},
    {Reason::bad_id, "id", "bad_field", true},
    {Reason::bad_url, "url", "bad_field", true},
    {Reason::bad_scope, "scope", "bad_field", true},
    {Reason::bad_tag, "tag", "bad_field", true},
    {Reason::null_value, "null_value", "null_value", false, true},
    {Reason::no_body, "no_body", "no_body", false, true},
    {Reason::status, "status", "status", false, true},
    {Reason::type, "type", "type", false, true},
    {Reason::binary, "binary", "binary", false, true},
    {Reason::header, "header", "header", false, true},
    {Reason::record_type, "record_type", "record_type", false, true},
    {Reason::revisit_unresolved, "revisit_unresolved", "revisit_unresolved", false, true},
    {Reason::not_http, "not_http", "not_http", false, true},
    {Reason::repeated, "repeated", "repeated", false, true},
    {Reason::needs_javascript, "needs_javascript", "needs_javascript", false, false, true},
    {Reason::fallback, "fallback", "fallback", false, false, true},
    {Reason::empty, "empty", "empty", false, false, true},
    {Reason::other, "", "other", true, true, true},
};

}  // namespace

std::span<const ReasonInfo> reasons() { return kReasons; }

const ReasonInfo& info_of(Reason reason) { return kReasons[static_cast<size_t>(reason) - 1]; }

std::string message_of(Reason reason, std::string_view more) {
  return std::string(info_of(reason).begins).append(more);
}

absl::Status rejected(Reason reason, std::string_view more) {
  return absl::InvalidArgumentError(message_of(reason, more));
}

Reason reason_of(std::string_view message) {
  const ReasonInfo* best = &info_of(Reason::other);
  for (const ReasonInfo& info : kReasons)
    if (message.starts_with(info.begins) && info.begins.size() > best->begins.size()) best = &info;
  return best->reason;
}

}  // namespace doppel
