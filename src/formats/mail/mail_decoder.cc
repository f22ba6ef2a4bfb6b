#include "formats/mail/mail.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/reason.h"
#include "base/status.h"
#include "formats/body.h"

namespace doppel {
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
