#include "oracle/words.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <cstdlib>

namespace doppel::oracle {
namespace {

icu::UnicodeString without_ignorables(const icu::UnicodeString& text) {
  icu::UnicodeString out;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    UChar32 c = text.char32At(i);
    if (!u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) out.append(c);
  }
  return out;
}

icu::UnicodeString decomposed(const icu::UnicodeString& text) {
  UErrorCode error = U_ZERO_ERROR;
  icu::UnicodeString out = icu::Normalizer2::getNFKDInstance(error)->normalize(text, error);
  if (U_FAILURE(error)) std::abort();
  return out;
}

icu::UnicodeString normalised(std::string_view text) {
  icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  icu::UnicodeString s = decomposed(without_ignorables(icu::UnicodeString::fromUTF8(piece)));
  while (true) {
    icu::UnicodeString next = s;
    next.foldCase(U_FOLD_CASE_DEFAULT);
    next = decomposed(without_ignorables(decomposed(next)));
    if (next == s) return s;
    s = next;
  }
}

bool without_spaces(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  switch (uscript_getScript(c, &error)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR:
      return true;
    default:
      return false;
  }
}

// The same for ASCII text, in which only case matters.
bool ascii_words(std::string_view text, std::vector<std::string>& out) {
  bool open = false;
  for (char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      out.clear();
      return false;
    }
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (word && !open) out.emplace_back();
    if (word) out.back().push_back(c);
    open = word;
  }
  return true;
}

}  // namespace

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  if (ascii_words(text, out)) return out;
  icu::UnicodeString s = normalised(text);
  enum { closed, run, single } open = closed;  // the state after the last character
  for (int32_t i = 0; i < s.length(); i = s.moveIndex32(i, 1)) {
    UChar32 c = s.char32At(i);
    uint32_t category = U_GET_GC_MASK(c);
    bool mark = (category & U_GC_M_MASK) != 0;
    bool letter = (category & (U_GC_L_MASK | U_GC_N_MASK)) != 0 || c == '_';
    if (!mark && !letter) {
      open = closed;
      continue;
    }
    bool alone = letter && without_spaces(c);
    bool continues = mark ? open != closed : !alone && open == run;
    if (!continues) {
      out.emplace_back();
      open = alone ? single : run;
    }
    icu::UnicodeString(c).toUTF8String(out.back());
  }
  return out;
}

}  // namespace doppel::oracle
