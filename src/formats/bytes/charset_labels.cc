#include "formats/bytes/charset_labels.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/utf8.h"

namespace doppel {
namespace {

struct CharsetLabel {
  std::string_view label, charset;
};

#include "formats/bytes/charset_labels.inc"

// Not in the standard, but used by pages and detectors.
constexpr CharsetLabel kMore[] = {
    {"cp932", "ibm-943_P15A-2003"},
    {"cp936", "gb18030"},
    {"cp949", "windows-949"},
    {"cp950", "big5-hkscs"},
    {"euckr", "windows-949"},
    {"gb2312-80", "gb18030"},
    {"iso-8859-8-e", "iso-8859-8"},
    {"latin-1", "windows-1252"},
    {"maccyrillic", "x-mac-cyrillic"},
    {"shift_jisx0213", "ibm-943_P15A-2003"},
    {"uhc", "windows-949"},
    {"win-1251", "windows-1251"},
    {"windows-936", "gb18030"},
    {"x-euc-kr", "windows-949"},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_around(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '"' || c == '\'';
}

template <size_t N>
std::string_view find(const CharsetLabel (&sorted)[N], std::string_view label) {
  const auto* at =
      std::lower_bound(std::begin(sorted), std::end(sorted), label,
                       [](const CharsetLabel& one, std::string_view l) { return one.label < l; });
  return at != std::end(sorted) && at->label == label ? at->charset : std::string_view();
}

}  // namespace

std::string charset_of_label(std::string_view label) {
  while (!label.empty() && is_around(label.front())) label.remove_prefix(1);
  while (!label.empty() && is_around(label.back())) label.remove_suffix(1);
  std::string name(label);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  std::string_view charset = find(kCharsetLabels, name);
  if (charset.empty()) charset = find(kMore, name);
  return charset.empty() ? name : std::string(charset);
}

void convert_iso8859_16(std::string_view bytes, std::string& out) {
  out.clear();
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    std::array<uint8_t, 4> encoded{};
    const int size = utf8::encode(byte < 0xa0 ? byte : kIso8859_16[byte - 0xa0], encoded.data());
    out.append(encoded.begin(), encoded.begin() + size);
  }
}

}  // namespace doppel
