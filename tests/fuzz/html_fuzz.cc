// Any page must have a text in UTF-8 or be refused. The main text is never longer than the visible one,
// unless it comes from the page's data: then it contains no block of the page.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/utf8.h"
#include "formats/bytes/charset.h"
#include "formats/html/html.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static doppel::HtmlExtractor extractor;
  static doppel::CharsetDecoder charsets;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string page(charsets.decode(bytes, "", true));
  auto visible = extractor.text(page, doppel::Extract::visible);
  if (!visible.ok()) return 0;
  const std::string text(*visible);
  if (!doppel::utf8::valid(text)) std::abort();
  auto main = extractor.text(page, doppel::Extract::main);
  if (!main.ok() || !doppel::utf8::valid(*main)) std::abort();
  if (main->size() <= text.size()) return 0;
  for (const doppel::HtmlPiece& piece : extractor.pieces())
    if (piece.fate == doppel::BlockFate::taken) std::abort();
  return 0;
}
