#include "files/write/text_cutter.h"

#include "base/check.h"

namespace doppel {

TextCutter::TextCutter(const FormatOptions& format) : field_(format), decoder_(make_decoder(format)) {}

std::optional<TextCutter::Shorter> TextCutter::without(const Record& record, std::span<const ByteRange> cut) {
  const std::optional<TextField::Place> place = field_.find(record);
  Document document;
  if (!place || !decoder_->decode(record, document).ok()) return std::nullopt;
  if (document.page || !document.charset.empty()) return std::nullopt;  // the record has other bytes
  Shorter out{.column = std::string(place->column)};
  size_t at = 0;
  for (const ByteRange& range : cut) {
    DOPPEL_CHECK(at <= range.begin && range.begin < range.end && range.end <= document.text.size(),
                 "what is cut is in the text, in order", at, range.begin, range.end, document.text.size());
    out.text += document.text.substr(at, range.begin - at);
    at = range.end;
  }
  out.text += document.text.substr(at);
  out.empty = out.text.find_first_not_of(" \t\r\n") == std::string::npos;
  out.record = field_.replaced(record, *place, out.text);
  return out;
}

}  // namespace doppel
