// Writes src/text/unicode_tables.inc from ICU's data: for every code point the fixed point of
// "decompose for compatibility, fold the case", and the class that the tokeniser needs.
//
//   cmake --build --preset release --target generate_unicode_tables
//   build/release/tests/generate_unicode_tables > src/text/unicode_tables.inc
//
// It refuses any other Unicode version than that of normaliser version 1.

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "text/unicode.h"

namespace {

using namespace doppel::unicode;

void require(bool condition, const char* what, UChar32 c = 0) {
  if (condition) return;
  std::fprintf(stderr, "U+%04X: %s\n", static_cast<unsigned>(c), what);
  std::exit(1);
}

std::u16string nfkd(const std::u16string& s) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* normaliser = unorm2_getNFKDInstance(&status);
  UChar buffer[256];
  int32_t n = unorm2_normalize(normaliser, s.data(), static_cast<int32_t>(s.size()), buffer, 256, &status);
  require(U_SUCCESS(status), "unorm2_normalize failed");
  return {buffer, static_cast<size_t>(n)};
}

std::vector<UChar32> code_points(const std::u16string& s) {
  std::vector<UChar32> result;
  for (size_t i = 0; i < s.size();) {
    UChar32 c;
    U16_NEXT(s.data(), i, s.size(), c);
    result.push_back(c);
  }
  return result;
}

void append(std::u16string& s, UChar32 c) {
  if (c > 0xffff) {
    s += static_cast<char16_t>(U16_LEAD(c));
    s += static_cast<char16_t>(U16_TRAIL(c));
  } else {
    s += static_cast<char16_t>(c);
  }
}

// Full case folding of everything but U+0345, which has to sort as a mark first.
std::u16string fold(const std::u16string& s) {
  std::u16string result;
  for (UChar32 c : code_points(s)) {
    std::u16string one;
    append(one, c);
    if (c != static_cast<UChar32>(kYpogegrammeni)) {
      UErrorCode status = U_ZERO_ERROR;
      UChar buffer[16];
      int32_t n = u_strFoldCase(buffer, 16, one.data(), static_cast<int32_t>(one.size()), U_FOLD_CASE_DEFAULT,
                                &status);
      require(U_SUCCESS(status), "u_strFoldCase failed", c);
      one.assign(buffer, static_cast<size_t>(n));
    }
    result += one;
  }
  return result;
}

bool ignorable(UChar32 c) { return u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0; }

std::vector<UChar32> fixed_point(UChar32 c) {
  if (ignorable(c)) return {};
  std::u16string s;
  append(s, c);
  for (int round = 0;; ++round) {
    require(round < 8, "no fixed point", c);
    std::u16string next = nfkd(fold(nfkd(s)));
    if (next == s) break;
    s = next;
  }
  std::vector<UChar32> kept;
  for (UChar32 x : code_points(s)) {
    if (!ignorable(x)) kept.push_back(x);
  }
  return kept;
}

bool without_spaces(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  switch (uscript_getScript(c, &status)) {
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

uint16_t class_of(UChar32 c) {
  uint8_t combining = u_getCombiningClass(c);
  uint32_t category = U_GET_GC_MASK(c);
  require(combining == 0 || (category & U_GC_M_MASK) != 0, "a combining class, but no mark", c);
  if (combining != 0) return static_cast<uint16_t>(kClassed + combining);
  if ((category & U_GC_M_MASK) != 0) return kMark;
  if ((category & (U_GC_L_MASK | U_GC_N_MASK)) != 0) return without_spaces(c) ? kSingle : kLetter;
  return c == '_' ? kLetter : kSeparator;
}

std::string encode_mapping(const std::vector<UChar32>& to) {
  std::string bytes;
  Mapping head{0, 0, 0, 0};
  bool mixed = false;
  bool in_tail = false;
  int tail_count = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t value = class_of(to[i]);
    if (value >= kClassed) {
      if (!in_tail) head.tail = static_cast<uint8_t>(bytes.size());
      in_tail = true;
      mixed |= i == 0 || to[i] == static_cast<UChar32>(kYpogegrammeni);
      head.tail_class = static_cast<uint8_t>(value - kClassed);
      ++tail_count;
    } else {
      mixed |= in_tail || value == kSeparator || (value == kSingle && i != 0) || (i == 0 && value == kMark);
      if ((head.shape & Mapping::kIsSingle) != 0 && value != kMark) mixed = true;
      if (value == kSingle) head.shape |= Mapping::kIsSingle;
    }
    uint8_t utf8[4];
    bytes.append(reinterpret_cast<char*>(utf8),
                 static_cast<size_t>(doppel::utf8::encode(static_cast<char32_t>(to[i]), utf8)));
  }
  if (!in_tail) head.tail = static_cast<uint8_t>(bytes.size());
  if (mixed || bytes.size() > kFastMappingSize) head.shape = Mapping::kIsMixed;
  require(bytes.size() < 64 && tail_count <= Mapping::kTailCount, "mapping too long", to[0]);
  head.size = static_cast<uint8_t>(bytes.size());
  head.shape = static_cast<uint8_t>(head.shape | tail_count);
  std::string result{static_cast<char>(head.size), static_cast<char>(head.tail),
                     static_cast<char>(head.tail_class), static_cast<char>(head.shape)};
  result += bytes;
  result.resize((result.size() + 3) / 4 * 4, '\0');
  return result;
}

template <typename Container>
void print(const char* declaration, const Container& values) {
  std::printf("%s = {\n", declaration);
  std::string line;
  for (auto v : values) {
    std::string item = std::to_string(static_cast<unsigned>(v)) + ",";
    if (line.size() + item.size() > 118) {
      std::puts(line.c_str());
      line.clear();
    }
    line += item;
  }
  std::printf("%s\n};\n", line.c_str());
}

}  // namespace

int main() {
  UVersionInfo version;
  u_getUnicodeVersion(version);
  require(version[0] == 15 && version[1] == 0, "this ICU does not have Unicode 15.0");

  std::string pool;
  std::map<std::string, uint16_t> places;
  std::vector<uint16_t> values(0x110000, kSeparator);
  for (UChar32 c = 0; c < 0x110000; ++c) {
    if (U_IS_SURROGATE(c)) continue;
    if (c >= 0xac00 && c <= 0xd7a3) {
      values[static_cast<size_t>(c)] = kHangul;
      continue;
    }
    std::vector<UChar32> to = fixed_point(c);
    uint16_t& value = values[static_cast<size_t>(c)];
    bool only_separators = true;
    for (UChar32 x : to) only_separators &= class_of(x) == kSeparator;
    if (to.empty()) {
      value = kIgnored;
    } else if (only_separators) {
      value = kSeparator;
    } else if (to.size() == 1 && to[0] == c) {
      value = class_of(c);
    } else {
      for (UChar32 x : to) require(fixed_point(x) == std::vector<UChar32>{x}, "maps to what maps on", c);
      std::string mapping = encode_mapping(to);
      auto [place, fresh] = places.emplace(mapping, static_cast<uint16_t>(kMapped + pool.size() / 4));
      if (fresh) pool += mapping;
      require(kMapped + pool.size() / 4 < 0x10000, "the pool is full", c);
      value = place->second;
    }
  }
  pool.append(kFastMappingSize, '\0');

  std::vector<uint16_t> stage1, stage2;
  std::map<std::vector<uint16_t>, uint16_t> blocks;
  constexpr size_t kBlock = size_t{1} << kBlockBits;
  for (size_t at = 0; at < values.size(); at += kBlock) {
    std::vector<uint16_t> block(values.begin() + static_cast<long>(at),
                                values.begin() + static_cast<long>(at + kBlock));
    auto [place, fresh] = blocks.emplace(block, static_cast<uint16_t>(blocks.size()));
    if (fresh) stage2.insert(stage2.end(), block.begin(), block.end());
    stage1.push_back(place->second);
  }

  std::printf("// Generated by tools/generate_unicode_tables.cc from Unicode 15.0. Do not edit.\n");
  std::printf("// clang-format off\n");
  print("const uint16_t kStage1[0x110000 >> kBlockBits]", stage1);
  print("const uint16_t kStage2[]", stage2);
  std::vector<unsigned char> pool_bytes(pool.begin(), pool.end());
  print("alignas(4) const unsigned char kPool[]", pool_bytes);
  // Bit c & 7 of byte c >> 3 for every c below U+0800: an ordinary letter that stays as it is.
  std::vector<unsigned char> plain(256);
  for (size_t c = 0x80; c < 0x800; ++c) {
    if (values[c] == kLetter) plain[c >> 3] = static_cast<unsigned char>(plain[c >> 3] | 1 << (c & 7));
  }
  print("alignas(64) const unsigned char kPlainLetters[256]", plain);
  // The same for U+3000 to U+30FF and kSingle. The kernels take all of U+4E00 to U+9FFF for that.
  std::vector<unsigned char> single(64);
  for (size_t c = 0x3000; c < 0x3100; ++c) {
    const size_t bit = c - 0x3000;
    if (values[c] == kSingle)
      single[bit >> 3] = static_cast<unsigned char>(single[bit >> 3] | 1 << (bit & 7));
  }
  for (size_t c = 0x4e00; c < 0xa000; ++c) {
    require(values[c] == kSingle, "is not plain Han", static_cast<UChar32>(c));
  }
  print("alignas(64) const unsigned char kPlainKana[64]", single);
  std::fprintf(stderr, "%zu blocks, %zu mappings, pool %zu bytes, tables %zu bytes\n", blocks.size(),
               places.size(), pool.size(), pool.size() + 2 * (stage1.size() + stage2.size()));
}
