#include "metrics/reasons.h"

namespace doppel {
namespace {

constexpr ReasonKind kRejects[] = {
    {"not JSON", "not_json"},
    {"not encoded", "not_encoded"},
    {"schema_registry_encoded", "schema_registry_encoded"},
    {"not_framed", "not_framed"},
    {"schema_unknown", "schema_unknown"},
    {"schema_unusable", "schema_unusable"},
    {"avro", "avro"},
    {"text: field", "bad_text"},
    {"text: ", "no_text"},
    {"pages without text", "no_text"},
    {"too_large", "too_large"},
    {"content-encoding", "content_encoding"},
    {"html", "html"},
    {"http", "http"},
    {"warc_mismatch", "warc_mismatch"},
    {"warc", "warc"},
    {"fetch_failed", "fetch_failed"},
    {"signed with", "other_scheme"},
    {"no signed record", "no_signed_record"},
    {"a signed record", "no_signed_record"},
    {"id, url and", "metadata_too_long"},
    {"id", "bad_field"},
    {"url", "bad_field"},
    {"scope", "bad_field"},
    {"tag", "bad_field"},
    {"", "other"},
};

constexpr ReasonKind kSkips[] = {
    {"null_value", "null_value"},
    {"no_body", "no_body"},
    {"status", "status"},
    {"type", "type"},
    {"binary", "binary"},
    {"header", "header"},
    {"record_type", "record_type"},
    {"revisit_unresolved", "revisit_unresolved"},
    {"not_http", "not_http"},
    {"repeated", "repeated"},
    {"fetch_failed", "fetch_failed"},
    {"", "other"},
};

}  // namespace

std::span<const ReasonKind> reject_kinds() { return kRejects; }
std::span<const ReasonKind> skip_kinds() { return kSkips; }

size_t kind_of(std::span<const ReasonKind> kinds, std::string_view reason) {
  size_t kind = 0;
  while (!reason.starts_with(kinds[kind].begins)) ++kind;
  return kind;
}

}  // namespace doppel
