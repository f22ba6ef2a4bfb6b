#include "formats/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/reason.h"
#include "base/status.h"
#include "formats/bytes/http.h"
#include "formats/fields.h"
#include "formats/presets.h"

namespace doppel {
namespace {

bool is_html_type(std::string_view type) {
  return equal_ignoring_case(type, "text/html") || equal_ignoring_case(type, "application/xhtml+xml");
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool has_page_name(std::string_view name) {
  constexpr std::string_view kEnds[] = {".html", ".htm", ".xhtml", ".shtml"};
  return std::any_of(std::begin(kEnds), std::end(kEnds), [name](std::string_view end) {
    return name.size() > end.size() && equal_ignoring_case(name.substr(name.size() - end.size()), end);
  });
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

SentAs sent_as(std::string_view content_type) {
  const std::string_view type = media_type(content_type);
  if (equal_ignoring_case(type, "application/warc")) return SentAs::warc;
  const bool text = equal_ignoring_case(type.substr(0, 5), "text/") || is_html_type(type);
  return text ? SentAs::text : SentAs::unknown;
}

bool begins_page(std::string_view text) {
  const auto begins = [&](std::string_view word) {
    return equal_ignoring_case(text.substr(0, word.size()), word);
  };
  if (begins(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  // Comments and processing instructions may come first.
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\f"), text.size()));
    const std::string_view end = begins("<!--") ? "-->" : begins("<?xml") ? ">" : "";
    if (end.empty()) break;
    const size_t at = text.find(end);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + end.size());
  }
  for (const std::string_view word : {"<!doctype html", "<html"}) {
    if (!begins(word) || text.size() == word.size()) continue;
    const char next = text[word.size()];
    if (next == '>' || next == ' ' || next == '\t' || next == '\r' || next == '\n') return true;
  }
  return false;
}

BodyReader::BodyReader(const FormatOptions& options, PageIf pages)
    : extract_(options.extract == ExtractPart::none      ? Extract::none
               : options.extract == ExtractPart::visible ? Extract::visible
                                                         : Extract::main),
      pages_(pages),
      max_bytes_(options.max_bytes) {}

bool BodyReader::is_page(const BodyBytes& body, std::string_view type, std::string_view bytes) const {
  if (pages_ == PageIf::always || pages_ == PageIf::never) return pages_ == PageIf::always;
  if (!type.empty()) return is_html_type(type);
  if (pages_ == PageIf::responses) return looks_like_html(bytes);
  return begins_page(bytes) || (has_page_name(body.name) && looks_like_html(bytes));
}

absl::Status BodyReader::read(const BodyBytes& body, Document& out) {
  const bool response = pages_ == PageIf::always || pages_ == PageIf::responses;
  const std::string_view type = media_type(body.content_type);
  bool page = is_page(body, type, body.bytes);
  if ((response || page) && max_bytes_ > 0 && body.bytes.size() > max_bytes_) {
    return rejected(Reason::too_large, fmt::format(": a body of {} bytes, more than input.max_bytes ({})",
                                                   body.bytes.size(), max_bytes_));
  }
  out.text = body.bytes;
  if (!body.unicode) {
    const std::string_view declared =
        body.charset.empty() ? charset_parameter(body.content_type) : body.charset;
    if (response || page) {
      out.text = charsets_.decode(body.bytes, declared, page);
    } else {
      ASSIGN_OR_RETURN(out.text, charsets_.decode_text(body.bytes, declared));
    }
    out.charset = charsets_.decoding().charset;
    out.charset_guessed = charsets_.decoding().guessed;
    // UTF-16 can be recognised as a page only after decoding.
    page = page || is_page(body, type, out.text);
  }
  out.page = page;
  if (page) {
    ASSIGN_OR_RETURN(out.text, html_.text(out.text, extract_));
    out.text_source = text_source_name(html_.source());
    out.unscored = html_.why_unscored();
  }
  if (!body.unicode && charsets_.is_unreadable(out.text)) out.unscored = Reason::charset;
  return absl::OkStatus();
}

absl::Status BodyReader::read_piece(const BodyBytes& body, bool first, Document& out) {
  if (first) charsets_.begin_pieces();
  ASSIGN_OR_RETURN(out.text, charsets_.next_piece(body.bytes));
  if (first && (is_page(body, {}, body.bytes) || is_page(body, {}, out.text)))
    return rejected(Reason::too_large, ": only text is read from files of this size, and this one is a page");
  out.charset = charsets_.decoding().charset;
  out.charset_guessed = charsets_.decoding().guessed;
  return absl::OkStatus();
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

Reason Rules::skip_status(int64_t status) const {
  if (any_status_) return {};
  if (status < 0) return Reason::fetch_failed;
  const bool listed = std::find(statuses_.begin(), statuses_.end(), status) != statuses_.end();
  return listed ? Reason::none : status == 0 ? Reason::fetch_failed : Reason::status;
}

Reason Rules::skip_type(std::string_view content_type) const {
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
  return Reason::type;
}

Reason Rules::skip_url(std::string_view url) {
  const bool http =
      equal_ignoring_case(url.substr(0, 8), "https://") || equal_ignoring_case(url.substr(0, 7), "http://");
  return http || url.empty() ? Reason::none : Reason::not_http;
}

namespace {

class RawDecoder final : public Decoder {
 public:
  RawDecoder(const FormatOptions& options, PageIf pages, std::vector<WantedField> fields)
      : fields_(std::move(fields)),
        gathered_(fields_),
        rules_(options),
        pages_(pages),
        bodies_(options, pages) {
    std::erase_if(fields_, [](const WantedField& field) { return field.from == WantedField::From::json; });
  }

  absl::Status decode(const Record& record, Document& out) override {
    out = {};
    BodyBytes body{.bytes = record.value, .content_type = record.media_type};
    if (record.whole_file) body.name = record.source;
    if (!fields_.empty()) take_fields(record, body, out);
    if (pages_ == PageIf::always) {
      out.skip = rules_.skip_type(out.content_type);
      if (out.skip != Reason::none) return absl::OkStatus();
    } else if (!record.whole_file && body.bytes.ends_with('\r')) {
      body.bytes.remove_suffix(1);
    }
    return bodies_.read(body, out);
  }

  absl::Status decode_piece(const Record& record, std::string_view piece, bool first,
                            Document& out) override {
    if (first) out = {};
    return bodies_.read_piece({.bytes = piece, .name = record.source}, first, out);
  }

 private:
  void take_fields(const Record& record, BodyBytes& body, Document& out) {
    std::array<bool, kRoles> done{};
    gathered_.clear();
    for (const WantedField& field : fields_) {
      std::optional<std::string_view> value = record_field(field, record);
      if (field.role == Role::scope) {
        gathered_.add_scope(value);
        continue;
      }
      auto& taken = done[static_cast<size_t>(field.role)];
      if (!value || (taken && field.role != Role::tag && field.role != Role::passthrough)) continue;
      taken = true;
      switch (field.role) {
        case Role::id:
          out.id = *value;
          break;
        case Role::url:
          // A key need not be a URL.
          if (field.from != WantedField::From::key ||
              (Rules::skip_url(*value) == Reason::none && !value->empty()))
            out.url = *value;
          break;
        case Role::date:
          out.timestamp_ms = parse_time(*value);
          break;
        case Role::content_type:
          out.content_type = body.content_type = *value;
          break;
        case Role::charset:
          body.charset = *value;
          break;
        case Role::tag:
          gathered_.add_tag(field.label, *value);
          break;
        case Role::passthrough:
          quoted_.clear();
          append_json_member(quoted_, *value);
          quoted_.pop_back();
          gathered_.add_passthrough(field.label, quoted_);
          break;
        case Role::best:
          quoted_.clear();
          append_json_member(quoted_, *value);
          quoted_.pop_back();
          gathered_.set_best(quoted_);
          break;
        default:
          break;
      }
    }
    gathered_.put(out);
  }

  std::vector<WantedField> fields_;
  Gathered gathered_;
  Rules rules_;
  PageIf pages_;
  BodyReader bodies_;
  std::string quoted_;
};

}  // namespace

std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options, PageIf pages) {
  auto fields = wanted_fields(options);
  return std::make_unique<RawDecoder>(options, pages,
                                      fields.ok() ? *std::move(fields) : std::vector<WantedField>());
}

}  // namespace doppel
