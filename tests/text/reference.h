#pragma once
// The text stage in its most obvious form, by ICU, and random texts to compare the two on.

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "text/shingler.h"
#include "text/word_hash.h"

namespace doppel::reference {

inline std::u16string from_utf8(std::string_view text) {
  std::u16string out(text.size() + 1, u'\0');
  UErrorCode status = U_ZERO_ERROR;
  int32_t size = 0;
  u_strFromUTF8WithSub(out.data(), static_cast<int32_t>(out.size()), &size, text.data(),
                       static_cast<int32_t>(text.size()), 0xfffd, nullptr, &status);
  out.resize(static_cast<size_t>(size));
  return out;
}

inline std::string to_utf8(const std::u16string& text) {
  std::string out(3 * text.size() + 1, '\0');
  UErrorCode status = U_ZERO_ERROR;
  int32_t size = 0;
  u_strToUTF8(out.data(), static_cast<int32_t>(out.size()), &size, text.data(),
              static_cast<int32_t>(text.size()), &status);
  out.resize(static_cast<size_t>(size));
  return out;
}

inline std::string to_utf8(const std::u32string& text) {
  std::u16string wide;
  for (char32_t c : text) {
    if (c > 0xffff) {
      wide += static_cast<char16_t>(U16_LEAD(c));
      wide += static_cast<char16_t>(U16_TRAIL(c));
    } else {
      wide += static_cast<char16_t>(c);
    }
  }
  return to_utf8(wide);
}

inline std::u32string code_points(const std::u16string& text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    UChar32 c;
    U16_NEXT(text.data(), i, text.size(), c);
    out += static_cast<char32_t>(c);
  }
  return out;
}

enum class Form { nfc, nfd, nfkc, nfkd };
inline std::u16string normalised(const std::u16string& text, Form form) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* how = form == Form::nfc    ? unorm2_getNFCInstance(&status)
                            : form == Form::nfd  ? unorm2_getNFDInstance(&status)
                            : form == Form::nfkc ? unorm2_getNFKCInstance(&status)
                                                 : unorm2_getNFKDInstance(&status);
  std::u16string out(20 * text.size() + 20, u'\0');
  int32_t size = unorm2_normalize(how, text.data(), static_cast<int32_t>(text.size()), out.data(),
                                  static_cast<int32_t>(out.size()), &status);
  out.resize(static_cast<size_t>(size));
  return out;
}

inline std::u16string folded(const std::u16string& text) {
  UErrorCode status = U_ZERO_ERROR;
  std::u16string out(4 * text.size() + 4, u'\0');
  int32_t size = u_strFoldCase(out.data(), static_cast<int32_t>(out.size()), text.data(),
                               static_cast<int32_t>(text.size()), U_FOLD_CASE_DEFAULT, &status);
  out.resize(static_cast<size_t>(size));
  return out;
}

inline std::u16string without_ignorable(const std::u16string& text) {
  std::u16string out;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    UChar32 c;
    U16_NEXT(text.data(), i, text.size(), c);
    if (!u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) out.append(text, begin, i - begin);
  }
  return out;
}

inline std::u16string normalise(std::u16string text) {
  text = without_ignorable(text);
  for (;;) {
    std::u16string next = normalised(without_ignorable(folded(normalised(text, Form::nfkd))), Form::nfkd);
    if (next == text) return text;
    text = next;
  }
}

// Returns the normalised words of a text.
inline std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  enum { none, word, single } open = none;
  for (char32_t point : code_points(normalise(from_utf8(text)))) {
    auto c = static_cast<UChar32>(point);
    const uint32_t category = U_GET_GC_MASK(c);
    if ((category & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) == 0 && c != '_') {
      open = none;
      continue;
    }
    UErrorCode status = U_ZERO_ERROR;
    UScriptCode script = uscript_getScript(c, &status);
    const bool mark = (category & U_GC_M_MASK) != 0;
    const bool alone =
        !mark && (script == USCRIPT_HAN || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ||
                  script == USCRIPT_THAI || script == USCRIPT_LAO || script == USCRIPT_KHMER ||
                  script == USCRIPT_MYANMAR);
    if (open == none || (!mark && (alone || open == single))) {
      result.emplace_back();
      open = alone ? single : word;
    }
    result.back() += to_utf8(std::u32string(1, point));
  }
  return result;
}

// Returns the shingle hashes of words, by the plain formulas.
inline std::vector<uint64_t> shingles(const std::vector<std::string>& text_words, const HashKey& key,
                                      int size) {
  const WordKeys keys(key);
  std::vector<uint64_t> hashes, result;
  for (const std::string& word : text_words) {
    hashes.push_back(hash_word(reinterpret_cast<const uint8_t*>(word.data()), word.size(), keys));
  }
  for (size_t i = 0; i + static_cast<size_t>(size) <= hashes.size(); ++i)
    result.push_back(hash_shingle(&hashes[i], size));
  return result;
}

inline std::vector<uint64_t> shingled(std::string_view text, const HashKey& key, int size) {
  Shingler shingler(key, size);
  PodVector<uint64_t> out;
  shingler.update(text, out);
  shingler.finish(out);
  return {out.begin(), out.end()};
}

// Whether Unicode 15.0 knows the code point, or no version ever will: a newer ICU may know more.
inline bool is_settled(UChar32 c) {
  if (U_IS_SURROGATE(c)) return false;
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] != 0
             ? age[0] <= 15 && (age[0] < 15 || age[1] == 0)
             : u_hasBinaryProperty(c, UCHAR_NONCHARACTER_CODE_POINT) || u_charType(c) == U_PRIVATE_USE_CHAR;
}

using Random = std::mt19937_64;
inline size_t below(Random& random, size_t n) { return random() % n; }

// Text that alternates between scripts, with many marks, separators and odd characters.
inline std::u32string random_text(Random& random, size_t size) {
  static const std::vector<std::u32string> kAlphabets = {
      U"the quick Brown_fox 42 ",
      U"     .,-!\"'\n",
      U"éàüÇñÅø œÆß ŁğİIı ",
      U"Привет, Мир Ёлка й ",
      U"αβΣσς ᾳ ᾼ Ὀδυσσεύς ΐ",
      U"漢字かなカナガﾊﾟー々〇、。",
      U"สวัสดีชาวโลก ກຳ ខ្មែរ မြန်မာ",
      U"हिन्दी में क्षत्रिय ",
      U"مرحبا بالعالم ﷺ ﻻ שָׁלוֹם ",
      U"한국어 텍스트 각 ",
      U"\u0301\u0327\u0345\u0308\u0323\u3099\u0e38\u0e48\u05b0\u0315",
      U"\u00ad\u200d\u200c\ufeff\ufe0f\u034f",
      U"“”‘’…–—\u00a0\u2003",
      U"ＦＵＬＬ　ｗｉｄｔｈ ½ ﬁ ﬃ ™ ① ㎏ ㍿",
      U"😀👩\u200d👩\u200d👧🏽🇩🇪",
      U"𝐀𝔅𝒞 𐐀𐐨 𠀀𪜶"};
  std::u32string text;
  while (text.size() < size) {
    size_t pick = below(random, kAlphabets.size() + 2);
    size_t length = 1 + below(random, below(random, 4) == 0 ? 30 : 4);
    for (size_t i = 0; i < length; ++i) {
      if (pick < kAlphabets.size()) {
        text += kAlphabets[pick][below(random, kAlphabets[pick].size())];
      } else if (pick == kAlphabets.size()) {
        text += static_cast<char32_t>('a' + below(random, 26));
      } else {
        auto c = static_cast<UChar32>(below(random, below(random, 2) == 0 ? 0x110000 : 0x3000));
        if (is_settled(c)) text += static_cast<char32_t>(c);
      }
    }
  }
  return text;
}

}  // namespace doppel::reference
