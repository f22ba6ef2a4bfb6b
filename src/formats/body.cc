#include "formats/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/status.h"
#include "formats/bytes/http.h"

namespace doppel {
namespace {

bool is_html_type(std::string_view type) {
  return equal_ignoring_case(type, "text/html") || equal_ignoring_case(type, "application/xhtml+xml");
}

}  // namespace

std::string_view media_type(std::string_view content_type) {
  const auto* end =
      std::find_if(content_type.begin(), content_type.end(), [](char c) { return c == ';' || c == ','; });
  std::string_view type(content_type.begin(), end);
  while (!type.empty() && (type.front() == ' ' || type.front() == '\t')) type.remove_prefix(1);
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return type;
}

BodyReader::BodyReader(const FormatOptions& options, bool always_html)
    : extract_(options.extract == "none"      ? Extract::none
               : options.extract == "visible" ? Extract::visible
                                              : Extract::main),
      always_html_(always_html),
      max_bytes_(options.max_bytes) {}

absl::StatusOr<std::string_view> BodyReader::text(const ResponseBody& body) {
  text_source_ = {};
  if (max_bytes_ > 0 && body.bytes.size() > max_bytes_) {
    return invalid(fmt::format("too_large: a body of {} bytes, more than input.max_bytes ({})",
                               body.bytes.size(), max_bytes_));
  }
  const std::string_view type = media_type(body.content_type);
  bool html = always_html_ || (type.empty() ? looks_like_html(body.bytes) : is_html_type(type));
  std::string_view text = body.bytes;
  if (!body.unicode) {
    std::string_view declared = body.charset.empty() ? charset_parameter(body.content_type) : body.charset;
    text = charsets_.decode(body.bytes, declared, html);
    // UTF-16 can be recognised as HTML only after decoding.
    html = html || (type.empty() && looks_like_html(text));
  }
  if (!html) return text;
  ASSIGN_OR_RETURN(text, html_.text(text, extract_));
  text_source_ = text_source_name(html_.source());
  return text;
}

Rules::Rules(const FormatOptions& options) {
  for (const std::string& status : options.statuses) {
    int64_t value = 0;
    std::from_chars(status.data(), status.data() + status.size(), value);
    any_status_ = any_status_ || status == "any";
    statuses_.push_back(value);
  }
  for (const std::string& type : options.content_types) {
    any_type_ = any_type_ || type == "any";
    types_.push_back(type);
  }
}

std::string_view Rules::skip_status(int64_t status) const {
  if (any_status_) return {};
  if (status < 0) return "fetch_failed";
  const bool listed = std::find(statuses_.begin(), statuses_.end(), status) != statuses_.end();
  return listed ? "" : status == 0 ? "fetch_failed" : "status";
}

std::string_view Rules::skip_type(std::string_view content_type) const {
  const std::string_view type = media_type(content_type);
  if (any_type_ || type.empty()) return {};
  for (const std::string& pattern : types_) {
    std::string_view wanted = pattern;
    if (wanted.ends_with("/*")) {
      wanted.remove_suffix(1);
      if (equal_ignoring_case(type.substr(0, wanted.size()), wanted)) return {};
    } else if (equal_ignoring_case(type, wanted)) {
      return {};
    }
  }
  return "type";
}

std::string_view Rules::skip_url(std::string_view url) {
  const bool http =
      equal_ignoring_case(url.substr(0, 8), "https://") || equal_ignoring_case(url.substr(0, 7), "http://");
  return http || url.empty() ? "" : "not_http";
}

}  // namespace doppel
