#include "formats/warc/idna.h"

#include <unicode/uidna.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace doppel {
namespace {

constexpr size_t kMaxLabel = 63;

bool is_ascii(std::u16string_view label) {
  return std::all_of(label.begin(), label.end(), [](char16_t c) { return c < 0x80; });
}

// ICU has IDNA 2003 in functions that it advises against, because browsers use a later standard.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
std::optional<std::string> ascii_label(std::u16string_view label) {
  std::array<UChar, kMaxLabel + 1> ascii;
  if (!is_ascii(label)) {
    UErrorCode error = U_ZERO_ERROR;
    const int32_t size =
        uidna_toASCII(label.data(), static_cast<int32_t>(label.size()), ascii.data(),
                      static_cast<int32_t>(ascii.size()), UIDNA_ALLOW_UNASSIGNED, nullptr, &error);
    if (U_FAILURE(error)) return std::nullopt;
    label = {ascii.data(), static_cast<size_t>(size)};
  }
  if (label.empty() || label.size() > kMaxLabel) return std::nullopt;
  return std::string(label.begin(), label.end());
}
#pragma GCC diagnostic pop

std::u16string decoded(std::string_view text) {
  std::u16string out;
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const int length = utf8::decode(reinterpret_cast<const uint8_t*>(&text[at]), text.size() - at, c);
    if (length > 0 && c > 0xffff) {
      out += static_cast<char16_t>(U16_LEAD(c));
      out += static_cast<char16_t>(U16_TRAIL(c));
    } else if (length > 0) {
      out += static_cast<char16_t>(c);
    }
    at += static_cast<size_t>(std::max(length, 1));
  }
  return out;
}

}  // namespace

std::optional<std::string> idna_host(std::string_view host) {
  const std::u16string all = decoded(host);
  std::u16string_view rest = all;
  std::string out;
  while (!rest.empty()) {
    const size_t dot = rest.find_first_of(u".\u3002\uff0e\uff61");
    const std::optional<std::string> label = ascii_label(rest.substr(0, dot));
    if (!label) return std::nullopt;
    out += *label;
    if (dot == std::u16string::npos) break;
    out += '.';
    rest.remove_prefix(dot + 1);
  }
  return out;
}

}  // namespace doppel
