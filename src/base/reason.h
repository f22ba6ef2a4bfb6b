#pragma once
// Why a record is rejected or skipped, or why its text is not compared. One table has, for each reason, how
// its message begins and the label of the metrics. A message names fields and sizes behind that; it is what
// events, dead letters and signed records have.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel {

enum class Reason : uint8_t {
  none,
  // The record cannot be read: rejected.
  not_json,
  not_encoded,
  schema_registry_encoded,
  not_framed,
  schema_unknown,
  schema_unusable,
  avro,
  charset,  // of a page: unscored
  bad_text,
  no_text,
  no_page_text,
  too_large,
  content_encoding,
  html,
  http,
  warc_mismatch,
  warc,
  fetch_failed,
  other_scheme,
  without_set,
  no_signed_record,
  bad_signed_record,
  metadata_too_long,
  bad_id,
  bad_url,
  bad_scope,
  bad_tag,
  // The record is no document to judge: skipped.
  null_value,
  no_body,
  status,
  type,
  binary,
  header,
  record_type,
  revisit_unresolved,
  not_http,
  repeated,
  // The record is a document without a text to compare: unscored.
  needs_javascript,
  fallback,
  empty,
  other,  // the last one
};

struct ReasonInfo {
  Reason reason;
  std::string_view begins;  // how its message begins
  std::string_view label;   // of the metrics; several reasons may share one
  bool rejects = false, skips = false, unscores = false;
};

// In the order of Reason, without none.
std::span<const ReasonInfo> reasons();
const ReasonInfo& info_of(Reason reason);

// The message: how it begins, followed by `more`.
std::string message_of(Reason reason, std::string_view more = {});
// The error of a record that is rejected, with this message.
absl::Status rejected(Reason reason, std::string_view more = {});
// The reason of a message: the one with the longest beginning.
Reason reason_of(std::string_view message);

}  // namespace doppel
