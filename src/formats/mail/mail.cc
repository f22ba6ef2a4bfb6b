#include "formats/mail/mail.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/reason.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/body.h"
#include "formats/bytes/base64.h"
#include "formats/bytes/http.h"

namespace doppel {
namespace {

constexpr std::string_view kFrom = "From ";
constexpr int kDepth = 20;  // of parts in parts

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Takes the first line of `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_time(std::string_view word) {  // 7:08, 07:08:09
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos || colon > 2 || !all_digits(word.substr(0, colon))) return false;
  return word.size() >= colon + 3 && all_digits(word.substr(colon + 1, 2));
}

bool is_month(std::string_view word) {
  static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const size_t at = word.size() == 3 ? kMonths.find(word) : std::string_view::npos;
  return at != std::string_view::npos && at % 3 == 0;
}

// Decodes quoted-printable; `underscores`: as in headers, where _ is a space. What is no code stays.
void decode_quoted(std::string_view text, bool underscores, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && underscores) {
      out += ' ';
    } else if (text[i] != '=') {
      out += text[i];
    } else if (i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      // A line that ends with "=" continues in the next one.
      size_t end = i + 1;
      while (end < text.size() && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r')) ++end;
      if (end < text.size() && text[end] != '\n') {
        out += '=';
      } else {
        i = end;
      }
    }
  }
}

// The value of a parameter of a header, such as boundary="abc"; "" if there is none. `memory` holds a value
// with escaped characters.
std::string_view parameter(std::string_view header, std::string_view name, std::string& memory) {
  size_t at = header.find(';');
  while (at < header.size()) {
    ++at;
    const size_t equals = header.find_first_of("=;", at);
    if (equals == std::string_view::npos) return {};
    if (header[equals] == ';') {
      at = equals;
      continue;
    }
    const bool wanted = equal_ignoring_case(trimmed(header.substr(at, equals - at)), name);
    at = equals + 1;
    while (at < header.size() && is_space(header[at])) ++at;
    if (at < header.size() && header[at] == '"') {
      memory.clear();
      for (++at; at < header.size() && header[at] != '"'; ++at) {
        if (header[at] == '\\' && at + 1 < header.size()) ++at;
        memory += header[at];
      }
      if (wanted) return memory;
      at = std::min(header.find(';', at), header.size());
    } else {
      const size_t end = std::min(header.find(';', at), header.size());
      if (wanted) return trimmed(header.substr(at, end - at));
      at = end;
    }
  }
  return {};
}

struct Entity {
  std::string_view type, encoding, disposition;  // headers
  std::string_view body;
};

Entity parse_entity(std::string_view bytes) {
  Entity out;
  // A part may begin with its body.
  if (bytes.starts_with('\n') || bytes.starts_with("\r\n")) {
    out.body = bytes.substr(bytes.find('\n') + 1);
    return out;
  }
  const std::optional<std::string_view> body =
      each_header(bytes, [&](std::string_view name, std::string_view value) {
        if (equal_ignoring_case(name, "Content-Type")) {
          out.type = value;
        } else if (equal_ignoring_case(name, "Content-Transfer-Encoding")) {
          out.encoding = value;
        } else if (equal_ignoring_case(name, "Content-Disposition")) {
          out.disposition = value;
        }
      });
  out.body = body.value_or(std::string_view());
  return out;
}

// Calls visit(part) for each part of a multipart body until it returns false.
template <typename Visit>
void each_part(std::string_view body, std::string_view boundary, Visit visit) {
  std::optional<std::string_view> open;  // from the begin of the open part to the end of the body
  for (std::string_view rest = body; !rest.empty();) {
    const std::string_view from_here = rest;
    std::string_view line = take_line(rest);
    if (!line.starts_with("--") || !line.substr(2).starts_with(boundary)) continue;
    line.remove_prefix(2 + boundary.size());
    const bool last = line.starts_with("--");
    if (!trimmed(last ? line.substr(2) : line).empty()) continue;
    if (open) {
      // The line end in front of a boundary belongs to it.
      std::string_view part = open->substr(0, open->size() - from_here.size());
      if (part.ends_with('\n')) part.remove_suffix(1);
      if (part.ends_with('\r')) part.remove_suffix(1);
      if (!visit(part)) return;
    }
    if (last) return;
    open = rest;
  }
  if (open) visit(*open);
}

void find_text(std::string_view bytes, int depth, MailPart& plain, MailPart& html) {
  const Entity entity = parse_entity(bytes);
  if (equal_ignoring_case(media_type(entity.disposition), "attachment")) return;
  const std::string_view given = media_type(entity.type);
  const std::string_view type = given.find('/') == std::string_view::npos ? "text/plain" : given;
  std::string memory;
  if (equal_ignoring_case(type.substr(0, 10), "multipart/")) {
    const std::string_view boundary = parameter(entity.type, "boundary", memory);
    if (boundary.empty() || depth == 0) return;
    // The first of related parts refers to the others, such as images.
    const bool related = equal_ignoring_case(type, "multipart/related");
    each_part(entity.body, boundary, [&](std::string_view part) {
      find_text(part, depth - 1, plain, html);
      return !related && !plain.found;
    });
    return;
  }
  MailPart* const part = equal_ignoring_case(type, "text/plain")  ? &plain
                         : equal_ignoring_case(type, "text/html") ? &html
                                                                  : nullptr;
  if (part == nullptr || part->found) return;
  *part = {.content_type = entity.type, .encoding = entity.encoding, .body = entity.body, .found = true};
}

// One encoded word at the beginning of `text`: "=?charset?B?...?=".
struct EncodedWord {
  std::string_view charset, text;
  bool base64 = false;
  size_t size = 0;
};

std::optional<EncodedWord> encoded_word(std::string_view text) {
  if (!text.starts_with("=?")) return std::nullopt;
  const size_t charset = text.find('?', 2);
  if (charset == std::string_view::npos || charset + 2 >= text.size() || text[charset + 2] != '?')
    return std::nullopt;
  const char how = text[charset + 1];
  if (how != 'B' && how != 'b' && how != 'Q' && how != 'q') return std::nullopt;
  const size_t end = text.find("?=", charset + 3);
  if (end == std::string_view::npos) return std::nullopt;
  EncodedWord out{.charset = text.substr(2, charset - 2),
                  .text = text.substr(charset + 3, end - charset - 3),
                  .base64 = how == 'B' || how == 'b',
                  .size = end + 2};
  out.charset = out.charset.substr(0, out.charset.find('*'));  // a language may follow
  if (std::any_of(out.text.begin(), out.text.end(), is_space)) return std::nullopt;
  return out;
}

}  // namespace

bool begins_message(std::string_view line) {
  if (!line.starts_with(kFrom)) return false;
  bool month = false, time = false, year = false;
  line.remove_prefix(kFrom.size());
  while (!line.empty()) {
    const size_t end = std::min(line.find_first_of(" \t\r\n"), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    month = month || is_month(word);
    time = time || (month && is_time(word));
    year = year || (time && word.size() == 4 && all_digits(word));
  }
  return year;
}

bool begins_mbox(std::string_view head) {
  while (head.starts_with('\n') || head.starts_with("\r\n")) head.remove_prefix(head.find('\n') + 1);
  if (!begins_message(take_line(head))) return false;
  const std::string_view next = take_line(head);
  const size_t colon = next.find(':');
  return colon != std::string_view::npos && colon != 0 &&
         std::none_of(next.begin(), next.begin() + static_cast<ptrdiff_t>(colon),
                      [](char c) { return is_space(c) || static_cast<unsigned char>(c) < 0x20; });
}

Mail parse_mail(std::string_view message) {
  Mail out;
  const auto set = [](std::string_view& member, std::string_view value) {
    if (member.empty()) member = value;
  };
  each_header(message, [&](std::string_view name, std::string_view value) {
    if (equal_ignoring_case(name, "Message-ID")) {
      set(out.message_id, value);
    } else if (equal_ignoring_case(name, "Date")) {
      set(out.date, value);
    } else if (equal_ignoring_case(name, "Subject")) {
      set(out.subject, value);
    }
  });
  if (out.message_id.starts_with('<'))
    out.message_id = out.message_id.substr(1, out.message_id.find('>') - 1);
  MailPart html;
  find_text(message, kDepth, out.text, html);
  if (!out.text.found) out.text = html;
  return out;
}

std::string_view without_from_quotes(std::string_view body, std::string& out) {
  const auto quotes_at = [&](size_t at) {  // the number of ">" of a quoted line that begins there
    size_t end = at;
    while (end < body.size() && body[end] == '>') ++end;
    return end != at && body.substr(end).starts_with(kFrom) ? end - at : 0;
  };
  out.clear();
  size_t copied = 0;
  for (size_t at = 0; at < body.size();) {
    if (quotes_at(at) != 0) {
      out += body.substr(copied, at - copied);
      copied = at + 1;
    }
    const size_t end = body.find('\n', at);
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  if (copied == 0) return body;
  out += body.substr(copied);
  return out;
}

bool decode_transfer(std::string_view encoding, std::string_view& body, std::string& out) {
  encoding = media_type(encoding);
  out.clear();
  if (equal_ignoring_case(encoding, "quoted-printable")) {
    out.reserve(body.size());
    decode_quoted(body, false, out);
  } else if (equal_ignoring_case(encoding, "base64")) {
    body = trimmed(body);
    const size_t end = std::min(body.find("\n\n"), body.find("\n\r\n"));
    if (!decode_base64(body, out) && !decode_base64(body.substr(0, end), out)) return false;
  } else {
    return true;
  }
  body = out;
  return true;
}

std::string header_text(std::string_view value, CharsetDecoder& charsets) {
  std::string unfolded;
  for (const char c : value)
    if (c != '\r' && c != '\n') unfolded += c;
  const std::string_view text = unfolded;
  std::string out, bytes, piece;
  std::string_view charset;
  size_t plain = 0;  // begin of the text that is not encoded
  const auto put_decoded = [&] {
    if (!charset.empty()) out += charsets.decode(bytes, charset, false);
    bytes.clear();
    charset = {};
  };
  for (size_t at = 0; at < text.size();) {
    const std::optional<EncodedWord> word = encoded_word(text.substr(at));
    if (!word) {
      ++at;
      continue;
    }
    // Space between encoded words does not count, and a character may be divided among words.
    const std::string_view between = text.substr(plain, at - plain);
    const bool adjacent = !charset.empty() && trimmed(between).empty();
    if (!adjacent || !equal_ignoring_case(charset, word->charset)) put_decoded();
    if (!adjacent) out += charsets.decode(between, "", false);
    charset = word->charset;
    piece.clear();
    if (!word->base64) {
      decode_quoted(word->text, true, piece);
    } else if (!decode_base64(word->text, piece)) {
      piece = word->text;
    }
    bytes += piece;
    at += word->size;
    plain = at;
  }
  put_decoded();
  out += charsets.decode(text.substr(plain), "", false);
  return out;
}

namespace {

// "Mon, 6 May 2024 07:08:09 +0200 (CEST)"; the day of the week and the comment may be missing.
std::optional<int64_t> date_of(std::string_view date) {
  date = date.substr(0, date.find('('));
  if (date.empty()) return std::nullopt;
  const bool no_day = date.front() >= '0' && date.front() <= '9' && date.find(' ') < 3;
  return parse_time(no_day ? "Mon, " + std::string(date) : std::string(date));
}

class MailDecoder final : public Decoder {
 public:
  explicit MailDecoder(const FormatOptions& options) : bodies_(options, PageIf::files) {}

  absl::Status decode(const Record& record, Document& out) override {
    out = {};
    std::string_view message = record.value;
    const size_t first_end = message.find('\n');  // of "From NAME DATE"
    message.remove_prefix(first_end == std::string_view::npos ? message.size() : first_end + 1);
    const Mail mail = parse_mail(message);
    if (is_utf8(mail.message_id)) out.id = mail.message_id;
    out.timestamp_ms = date_of(mail.date);
    out.content_type = kMailType;
    if (!mail.text.found) return absl::OkStatus();
    std::string_view body = without_from_quotes(mail.text.body, unquoted_);
    if (!decode_transfer(mail.text.encoding, body, decoded_))
      return rejected(Reason::not_encoded, ": its base64 is damaged");
    RETURN_IF_ERROR(
        bodies_.read({.bytes = body,
                      .content_type = mail.text.content_type.empty() ? "text/plain" : mail.text.content_type},
                     out));
    // Lines end with CR LF where they were encoded.
    text_ = header_text(mail.subject, charsets_);
    text_ += "\n\n";
    const size_t begin = text_.size();
    for (size_t i = 0; i < out.text.size(); ++i)
      if (out.text[i] != '\r' || i + 1 == out.text.size() || out.text[i + 1] != '\n') text_ += out.text[i];
    while (!text_.empty() && (text_.back() == '\n' || text_.back() == ' ')) text_.pop_back();
    // Messages without a text may well have the same subject.
    out.text = text_.size() <= begin ? std::string_view() : std::string_view(text_);
    return absl::OkStatus();
  }

 private:
  BodyReader bodies_;
  CharsetDecoder charsets_;
  std::string unquoted_, decoded_, text_;
};

}  // namespace

std::unique_ptr<Decoder> make_mail_decoder(const FormatOptions& options) {
  return std::make_unique<MailDecoder>(options);
}

}  // namespace doppel
