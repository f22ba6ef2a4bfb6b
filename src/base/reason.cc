#include "base/reason.h"

#include <iterator>

namespace doppel {
namespace {

constexpr bool kYes = true, kNo = false;

constexpr ReasonInfo kReasons[] = {
    {Reason::not_json, "not JSON", "not_json", kYes},
    {Reason::not_encoded, "not encoded", "not_encoded", kYes},
    {Reason::schema_registry_encoded, "schema_registry_encoded", "schema_registry_encoded", kYes},
    {Reason::not_framed, "not_framed", "not_framed", kYes},
    {Reason::schema_unknown, "schema_unknown", "schema_unknown", kYes},
    {Reason::schema_unusable, "schema_unusable", "schema_unusable", kYes},
    {Reason::avro, "avro", "avro", kYes},
    {Reason::bad_text, "text: field", "bad_text", kYes},
    {Reason::no_text, "text: ", "no_text", kYes},
    {Reason::no_page_text, "pages without text", "no_text", kYes},
    {Reason::too_large, "too_large", "too_large", kYes},
    {Reason::content_encoding, "content-encoding", "content_encoding", kYes},
    {Reason::html, "html", "html", kYes},
    {Reason::http, "http", "http", kYes},
    {Reason::warc_mismatch, "warc_mismatch", "warc_mismatch", kYes},
    {Reason::warc, "warc", "warc", kYes},
    {Reason::fetch_failed, "fetch_failed", "fetch_failed", kYes, kYes},
    {Reason::other_scheme, "signed with another data scheme or hash key", "other_scheme", kYes},
    {Reason::without_set, "signed without its set", "without_set", kYes},
    {Reason::no_signed_record, "no signed record", "no_signed_record", kYes},
    {Reason::bad_signed_record, "a signed record", "no_signed_record", kYes},
    {Reason::metadata_too_long, "id, url and other metadata", "metadata_too_long", kYes},
    {Reason::bad_id, "id", "bad_field", kYes},
    {Reason::bad_url, "url", "bad_field", kYes},
    {Reason::bad_scope, "scope", "bad_field", kYes},
    {Reason::bad_tag, "tag", "bad_field", kYes},
    {Reason::null_value, "null_value", "null_value", kNo, kYes},
    {Reason::no_body, "no_body", "no_body", kNo, kYes},
    {Reason::status, "status", "status", kNo, kYes},
    {Reason::type, "type", "type", kNo, kYes},
    {Reason::binary, "binary", "binary", kNo, kYes},
    {Reason::header, "header", "header", kNo, kYes},
    {Reason::record_type, "record_type", "record_type", kNo, kYes},
    {Reason::revisit_unresolved, "revisit_unresolved", "revisit_unresolved", kNo, kYes},
    {Reason::not_http, "not_http", "not_http", kNo, kYes},
    {Reason::repeated, "repeated", "repeated", kNo, kYes},
    {Reason::other, "", "other", kYes, kYes},
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
  for (const ReasonInfo& each : kReasons)
    if (message.starts_with(each.begins) && each.begins.size() > best->begins.size()) best = &each;
  return best->reason;
}

}  // namespace doppel
