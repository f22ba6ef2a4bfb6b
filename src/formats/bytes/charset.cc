// ICU converts and uchardet detects; this file decides which of several declarations counts.

#include "formats/bytes/charset.h"

#include <simdjson.h>
#include <uchardet.h>
#include <unicode/uchar.h>
#include <unicode/ucnv.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/utf8.h"

namespace doppel {
namespace {

// ---- the meaning of charset labels in browsers, as the Encoding standard defines it

constexpr std::string_view kIso8859_16Name = "iso-8859-16";

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

// Returns ICU's name of the charset with this label; kIso8859_16Name for the charset that ICU lacks. Ignores
// case and surrounding spaces and quotes. A label that the standard does not define is returned in lower
// case: ICU may know it.
std::string charset_of_label(std::string_view label) {
  while (!label.empty() && is_around(label.front())) label.remove_prefix(1);
  while (!label.empty() && is_around(label.back())) label.remove_suffix(1);
  std::string name(label);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  std::string_view charset = find(kCharsetLabels, name);
  if (charset.empty()) charset = find(kMore, name);
  return charset.empty() ? name : std::string(charset);
}

// Replaces `out` with `bytes`, converted from ISO-8859-16 to UTF-8.
void convert_iso8859_16(std::string_view bytes, std::string& out) {
  out.clear();
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    std::array<uint8_t, 4> encoded{};
    const int size = utf8::encode(byte < 0xa0 ? byte : kIso8859_16[byte - 0xa0], encoded.data());
    out.append(encoded.begin(), encoded.begin() + size);
  }
}

// ---- marks, declarations and guesses

constexpr size_t kMetaBytes = 1024;
constexpr size_t kLookBytes = 4096;
constexpr size_t kDetectBytes = 64 << 10;

constexpr std::string_view kUtf8 = "utf-8";
constexpr const char* kWesternEuropean = "windows-1252";

constexpr size_t kErrorsOneIn = 20;  // of the high bytes that may be errors in damaged UTF-8
constexpr size_t kFewIn = 8;         // a text with fewer high bytes is mostly ASCII

bool is_high(char c) { return static_cast<signed char>(c) < 0; }

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

// The position of `word` (lower case) in `text`, ignoring case.
size_t find_word(std::string_view text, std::string_view word, size_t from = 0) {
  for (size_t at = from; at + word.size() <= text.size(); ++at) {
    if (lower(text[at]) == word[0] &&
        std::equal(word.begin(), word.end(), text.begin() + static_cast<ptrdiff_t>(at),
                   [](char a, char b) { return a == lower(b); })) {
      return at;
    }
  }
  return std::string_view::npos;
}

// Returns LABEL of `name = "LABEL"`, where name is "charset" or "encoding".
std::string_view assigned(std::string_view text, std::string_view name) {
  for (size_t at = find_word(text, name); at != std::string_view::npos; at = find_word(text, name, at + 1)) {
    std::string_view rest = text.substr(at + name.size());
    auto skip_space = [&] {
      while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
    };
    skip_space();
    if (rest.empty() || rest.front() != '=') continue;
    rest.remove_prefix(1);
    skip_space();
    const char quote = !rest.empty() && (rest.front() == '"' || rest.front() == '\'') ? rest.front() : '\0';
    if (quote != '\0') rest.remove_prefix(1);
    size_t length = 0;
    while (length < rest.size() && rest[length] != quote && !is_space(rest[length]) &&
           std::string_view("\"';,>/?").find(rest[length]) == std::string_view::npos) {
      ++length;
    }
    return rest.substr(0, length);
  }
  return {};
}

struct ByteOrderMark {
  std::string_view bytes;
  std::string_view charset;
};
constexpr std::array<ByteOrderMark, 5> kMarks{{{{"\xef\xbb\xbf", 3}, kUtf8},
                                               {{"\xff\xfe\0\0", 4}, "utf-32le"},
                                               {{"\0\0\xfe\xff", 4}, "utf-32be"},
                                               {{"\xff\xfe", 2}, "utf-16le"},
                                               {{"\xfe\xff", 2}, "utf-16be"}}};

const ByteOrderMark* mark_of(std::string_view bytes) {
  for (const ByteOrderMark& mark : kMarks) {
    if (bytes.starts_with(mark.bytes)) return &mark;
  }
  return nullptr;
}

// The units of a text in one form of Unicode, as far as they tell whether it is that form.
struct Units {
  size_t count = 0;
  size_t low = 0;     // first byte below 0x20, as in all scripts but those of East Asia
  size_t common = 0;  // spaces, line feeds, ASCII, and the punctuation of East Asia
  size_t wrong = 0;   // no character, or one that no text has
  bool is_text() const { return wrong * 50 <= count; }
  bool fits() const { return count > 0 && is_text() && common * 50 >= count; }
};

uint32_t unit_at(std::string_view bytes, size_t at, size_t size, bool little) {
  uint32_t unit = 0;
  for (size_t i = 0; i < size; ++i)
    unit = unit << 8 | static_cast<unsigned char>(bytes[at + (little ? size - 1 - i : i)]);
  return unit;
}

Units units_of(std::string_view bytes, size_t size, bool little) {
  Units out;
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    uint32_t c = unit_at(bytes, at, size, little);
    ++out.count;
    if (size == 2) out.low += c < 0x2000 ? 1 : 0;
    if (size == 2 && (c & 0xfc00) == 0xd800) {
      if (at + 4 > bytes.size()) break;  // cut off
      const uint32_t second = unit_at(bytes, at + 2, 2, little);
      if ((second & 0xfc00) == 0xdc00) {
        c = 0x10000 + ((c & 0x3ff) << 10) + (second & 0x3ff);
        at += 2;
      }
    }
    const bool space = c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == ' ';
    const int8_t type =
        c > 0x10ffff ? static_cast<int8_t>(U_UNASSIGNED) : u_charType(static_cast<UChar32>(c));
    out.wrong += (type == U_CONTROL_CHAR && !space) || type == U_UNASSIGNED || type == U_PRIVATE_USE_CHAR ||
                         type == U_SURROGATE
                     ? 1
                     : 0;
    out.common +=
        space || (c > ' ' && c < 0x7f) || (c >= 0x3000 && c < 0x3100) || (c >= 0xff01 && c < 0xff20);
  }
  return out;
}

constexpr size_t kBlock = 128;  // bytes that are examined together, without a branch

// Which unusual bytes a text contains.
struct Unusual {
  bool high = false;    // bytes from 0x80
  bool shifts = false;  // escapes and zeros, which ISO 2022 and UTF-16 use
};

Unusual unusual(std::string_view bytes) {
  Unusual out;
  while (!bytes.empty() && !(out.high && out.shifts)) {
    unsigned char high = 0, shifts = 0;
    for (char c : bytes.substr(0, kBlock)) {
      high |= static_cast<unsigned char>(c);
      shifts |= static_cast<unsigned char>((c == '\0') | (c == '\x1b'));
    }
    out.high = out.high || high >= 0x80;
    out.shifts = out.shifts || shifts != 0;
    bytes.remove_prefix(std::min(kBlock, bytes.size()));
  }
  return out;
}

// Counts the errors, and lets ICU replace them with U+FFFD.
void count_error(const void* context, UConverterToUnicodeArgs* arguments, const char* units, int32_t length,
                 UConverterCallbackReason reason, UErrorCode* error) {
  if (reason <= UCNV_IRREGULAR) ++*static_cast<size_t*>(const_cast<void*>(context));
  UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, arguments, units, length, reason, error);
}

absl::Status unknown_charset() {
  return invalid(
      "charset: neither UTF-8 nor a charset that can be recognised; convert the text to UTF-8: iconv -f "
      "CHARSET "
      "-t UTF-8");
}

bool is_ascii(std::string_view bytes) { return !unusual(bytes).high; }

// The length of `bytes` without the beginning of a UTF-8 character that is cut off at its end.
size_t without_cut_character(std::string_view bytes) {
  for (size_t back = 1; back <= std::min<size_t>(3, bytes.size()); ++back) {
    const auto c = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if (c < 0x80) break;
    if (c >= 0xc0) return (c >= 0xf0 ? 4U : c >= 0xe0 ? 3U : 2U) > back ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

}  // namespace

bool is_utf8(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

std::string_view unmarked_unicode(std::string_view bytes) {
  bytes = bytes.substr(0, kLookBytes);
  if (bytes.size() < 4 || bytes.find('\0') == std::string_view::npos) return {};
  if (units_of(bytes, 4, true).fits()) return "utf-32le";
  if (units_of(bytes, 4, false).fits()) return "utf-32be";
  const Units little = units_of(bytes, 2, true), big = units_of(bytes, 2, false);
  const bool is_little = little.wrong != big.wrong ? little.wrong < big.wrong : little.common > big.common;
  const Units& units = is_little ? little : big;
  if (!units.fits()) return {};
  // Other text that has a zero byte by mistake has few bytes below 0x20, and is UTF-8.
  const bool low = units.low * 10 >= units.count * 9;
  const bool east_asian = !is_utf8(bytes.substr(0, without_cut_character(bytes)));
  return !low && !east_asian ? std::string_view() : is_little ? "utf-16le" : "utf-16be";
}

bool wrongly_marked(std::string_view bytes) {
  const ByteOrderMark* mark = mark_of(bytes);
  if (mark == nullptr || mark->charset == kUtf8) return false;
  const size_t size = mark->charset.starts_with("utf-32") ? 4 : 2;
  bytes = bytes.substr(mark->bytes.size(), kLookBytes);
  return !units_of(bytes, size, mark->charset.ends_with("le")).is_text();
}

std::string shown_charset(const std::string& name) {
  for (const char* standard : {"MIME", "IANA"}) {
    UErrorCode error = U_ZERO_ERROR;
    const char* known = ucnv_getStandardName(name.c_str(), standard, &error);
    if (U_FAILURE(error) || known == nullptr) continue;
    std::string out(known);
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
  }
  return name;
}

struct CharsetDecoder::Converters {
  struct Entry {
    UConverter* converter = nullptr;
    size_t errors = 0;
  };
  std::map<std::string, Entry, std::less<>> known;
  UConverter* utf8 = nullptr;
  uchardet_t detector = uchardet_new();

  Converters() {
    UErrorCode error = U_ZERO_ERROR;
    utf8 = ucnv_open("UTF-8", &error);
  }
  ~Converters() {
    clear();
    ucnv_close(utf8);
    uchardet_delete(detector);
  }
  Converters(const Converters&) = delete;
  Converters& operator=(const Converters&) = delete;

  void clear() {
    for (auto& [name, entry] : known) ucnv_close(entry.converter);
    known.clear();
  }

  // nullptr if there is no such charset. The entry is valid until the next call.
  Entry* find(const std::string& name) {
    auto at = known.find(name);
    if (at == known.end()) {
      constexpr size_t kMost = 64;  // limits memory, because labels come from strangers
      if (name.empty() || name.size() > 40) return nullptr;
      if (known.size() >= kMost) clear();
      UErrorCode error = U_ZERO_ERROR;
      UConverter* converter = ucnv_open(name.c_str(), &error);
      if (U_FAILURE(error)) converter = nullptr;
      at = known.emplace(name, Entry{converter, 0}).first;
      if (converter != nullptr) {
        ucnv_setToUCallBack(converter, count_error, &at->second.errors, nullptr, nullptr, &error);
      }
    }
    return at->second.converter == nullptr ? nullptr : &at->second;
  }

  // Replaces `out`. Returns the number of errors.
  size_t convert(Entry& from, std::string_view bytes, std::string& out) const {
    begin(from);
    return convert_on(from, bytes, true, out);
  }

  void begin(Entry& from) const {
    from.errors = 0;
    ucnv_reset(from.converter);
    ucnv_reset(utf8);
  }

  // Continues with the next bytes of a text; `last`: they end it.
  size_t convert_on(Entry& from, std::string_view bytes, bool last, std::string& out) const {
    UErrorCode error = U_ZERO_ERROR;
    std::array<UChar, 4096> pivot;
    UChar* pivot_source = pivot.data();
    UChar* pivot_target = pivot.data();
    const char* source = bytes.data();
    const char* end = source + bytes.size();
    out.resize(bytes.size() + bytes.size() / 2 + 64);
    size_t done = 0;
    for (;;) {
      char* target = out.data() + done;
      error = U_ZERO_ERROR;
      ucnv_convertEx(utf8, from.converter, &target, out.data() + out.size(), &source, end, pivot.data(),
                     &pivot_source, &pivot_target, pivot.data() + pivot.size(), 0, last ? 1 : 0, &error);
      done = static_cast<size_t>(target - out.data());
      if (error != U_BUFFER_OVERFLOW_ERROR) break;
      out.resize(out.size() * 2);
    }
    out.resize(done);
    return U_FAILURE(error) ? from.errors + 1 : from.errors;
  }

  std::string detect(std::string_view bytes) const {
    uchardet_reset(detector);
    bytes = bytes.substr(0, kDetectBytes);
    if (uchardet_handle_data(detector, bytes.data(), bytes.size()) != 0) return {};
    uchardet_data_end(detector);
    return charset_of_label(uchardet_get_charset(detector));
  }
};

bool looks_binary(std::string_view bytes) {
  if (mark_of(bytes) != nullptr) return false;
  bytes = bytes.substr(0, kLookBytes);
  size_t zeros = 0;
  size_t controls = 0;
  // One byte holds the counts of a block, so that the compiler can vectorise.
  for (std::string_view left = bytes; !left.empty(); left.remove_prefix(std::min(kBlock, left.size()))) {
    unsigned char zeros_here = 0, controls_here = 0;
    for (char c : left.substr(0, kBlock)) {
      const auto u = static_cast<unsigned char>(c);
      const bool space = (u == '\t') | (u == '\n') | (u == '\r') | (u == '\f') | (u == 0x1b);
      zeros_here = static_cast<unsigned char>(zeros_here + (u == 0));
      controls_here = static_cast<unsigned char>(controls_here + ((u < 0x20) & !space));
    }
    zeros += zeros_here;
    controls += controls_here;
  }
  if (zeros > 0) return unmarked_unicode(bytes).empty();
  return controls * 100 > bytes.size();
}

std::string_view charset_parameter(std::string_view content_type) {
  const size_t semicolon = content_type.find(';');
  if (semicolon == std::string_view::npos) return {};
  return assigned(content_type.substr(semicolon + 1), "charset");
}

std::string_view charset_of_meta(std::string_view bytes) {
  bytes = bytes.substr(0, kMetaBytes);
  if (bytes.starts_with("<?xml")) {
    std::string_view label = assigned(bytes.substr(0, bytes.find('>')), "encoding");
    if (!label.empty()) return label;
  }
  for (size_t at = bytes.find('<'); at != std::string_view::npos; at = bytes.find('<', at + 1)) {
    if (bytes.substr(at, 4) == "<!--") {
      // "<!-->" is a comment too.
      at = bytes.find("-->", at + 2);
      if (at == std::string_view::npos) break;
      continue;
    }
    const std::string_view tag = bytes.substr(at, bytes.find('>', at) - at);
    constexpr size_t kName = 5;
    if (tag.size() <= kName || find_word(tag.substr(0, kName), "<meta") != 0) continue;
    if (!is_space(tag[kName]) && tag[kName] != '/') continue;
    std::string_view label = assigned(tag, "charset");
    if (!label.empty()) return label;
  }
  return {};
}

CharsetDecoder::CharsetDecoder() : converters_(new Converters) {}
CharsetDecoder::~CharsetDecoder() = default;

void CharsetDecoder::note(std::string_view charset, bool guessed) {
  decoding_.charset = charset;
  decoding_.guessed = guessed;
}

std::string_view CharsetDecoder::decode(std::string_view bytes, std::string_view declared, bool html) {
  note({}, false);
  fits_ = readable_ = true;
  std::optional<size_t> fewest;
  // Returns true if `name` decodes without errors; the result is in out_. Otherwise out_ keeps the best
  // result so far.
  auto attempt = [&](const std::string& name, bool guessed) {
    if (name == kIso8859_16Name) {  // every byte is valid
      fewest = 0;
      convert_iso8859_16(bytes, out_);
      note(name, guessed);
      return true;
    }
    Converters::Entry* entry = converters_->find(name);
    if (entry == nullptr) return false;
    const size_t errors = converters_->convert(*entry, bytes, other_);
    if (!fewest || errors < *fewest) {
      fewest = errors;
      out_.swap(other_);
      note(name, guessed);
    }
    return errors == 0;
  };

  if (const ByteOrderMark* mark = mark_of(bytes)) {
    bytes.remove_prefix(mark->bytes.size());
    if (mark->charset == kUtf8 && simdjson::validate_utf8(bytes.data(), bytes.size())) return bytes;
    attempt(std::string(mark->charset), false);
    return out_;
  }
  const Unusual found = unusual(bytes);
  if (!found.high && !found.shifts) return bytes;
  if (found.high && simdjson::validate_utf8(bytes.data(), bytes.size())) return bytes;
  if (!declared.empty() && attempt(charset_of_label(declared), false)) return out_;
  if (html) {
    std::string meta = charset_of_label(charset_of_meta(bytes));
    // The tag was readable as ASCII, so the text is not UTF-16.
    if (meta.starts_with("utf-16")) meta = kUtf8;
    if (!meta.empty() && attempt(meta, false)) return out_;
  }
  if (std::string_view wide = unmarked_unicode(bytes); !wide.empty() && attempt(std::string(wide), true))
    return out_;
  // If only few of the high bytes are errors in UTF-8, the text is damaged UTF-8: in other charsets, fewer of
  // them look like UTF-8.
  const auto high = static_cast<size_t>(std::count_if(bytes.begin(), bytes.end(), is_high));
  Converters::Entry* utf8 = high > 0 ? converters_->find(std::string(kUtf8)) : nullptr;
  if (utf8 != nullptr && converters_->convert(*utf8, bytes, other_) * kErrorsOneIn <= high) {
    note({}, false);
    return other_;
  }
  if (attempt(converters_->detect(bytes), true)) {
    readable_ = decoding_.charset != kWesternEuropean;  // all bytes are letters or signs of it
    return out_;
  }
  if (!found.high && !fewest) return bytes;
  // No charset fits. Keeps the declared one if ICU knows it. A few letters among ASCII are Western European,
  // which detection does not recognise in short texts.
  if (declared.empty() || !fewest) attempt(kWesternEuropean, true);
  const bool last_resort = decoding_.charset == kWesternEuropean;
  fits_ = last_resort && fewest == 0 && high * kFewIn <= bytes.size();
  readable_ = !last_resort && fewest.value_or(0) * kErrorsOneIn <= high;
  return out_;
}

absl::StatusOr<std::string_view> CharsetDecoder::decode_text(std::string_view bytes,
                                                             std::string_view declared) {
  const std::string_view text = decode(bytes, declared, false);
  if (!fits_) return unknown_charset();
  return text;
}

bool CharsetDecoder::is_unreadable(std::string_view text) const {
  if (readable_) return false;
  // Letters with accents stand alone; those of other scripts stand together.
  size_t characters = 0, high = 0, together = 0;
  bool before = false;
  for (const char c : text) {
    const auto unit = static_cast<unsigned char>(c);
    if ((unit & 0xc0) == 0x80) continue;
    const bool here = unit >= 0xc0;
    ++characters;
    high += here ? 1 : 0;
    together += here && before ? 1 : 0;
    before = here;
  }
  return high * kFewIn > characters && together * 2 > high;
}

void CharsetDecoder::begin_pieces() {
  pieces_ = Pieces::none_yet;
  note({}, false);
}

absl::StatusOr<std::string_view> CharsetDecoder::next_piece(std::string_view piece) {
  if (pieces_ == Pieces::utf8) return piece;
  const bool first = pieces_ == Pieces::none_yet;
  if (pieces_ == Pieces::converted) {
    Converters::Entry* entry = converters_->find(decoding_.charset);
    const size_t errors = converters_->convert_on(*entry, piece, piece.empty(), out_);
    if (errors > 0 && decoding_.guessed) return unknown_charset();
    return out_;
  }
  const ByteOrderMark* mark = first ? mark_of(piece) : nullptr;
  if (mark != nullptr) piece.remove_prefix(mark->bytes.size());
  if (mark == nullptr || mark->charset == kUtf8) {
    const std::string_view wide = first && mark == nullptr ? unmarked_unicode(piece) : std::string_view();
    if (wide.empty()) {
      const bool ascii = is_ascii(piece);
      pieces_ = ascii ? Pieces::ascii : Pieces::utf8;
      if (ascii || mark != nullptr) return piece;
      return guess_of_piece(piece);
    } else {
      note(wide, true);
    }
  } else {
    note(mark->charset, false);
  }
  return convert_pieces(piece);
}

// Decides by the first piece that is not ASCII. A character may be cut off at its end, which is no error.
absl::StatusOr<std::string_view> CharsetDecoder::guess_of_piece(std::string_view piece) {
  if (is_utf8(piece.substr(0, without_cut_character(piece)))) return piece;
  const auto high = static_cast<size_t>(std::count_if(piece.begin(), piece.end(), is_high));
  const auto errors_in = [&](const std::string& name) -> std::optional<size_t> {
    Converters::Entry* entry = converters_->find(name);
    if (entry == nullptr) return std::nullopt;
    converters_->begin(*entry);
    return converters_->convert_on(*entry, piece, false, other_);
  };
  if (errors_in(std::string(kUtf8)).value_or(high) * kErrorsOneIn <= high) return piece;  // damaged UTF-8
  std::string guess = converters_->detect(piece);
  if (errors_in(guess) != 0) guess = high * kFewIn <= piece.size() ? kWesternEuropean : "";
  if (guess.empty()) return unknown_charset();
  note(guess, true);
  return convert_pieces(piece);
}

absl::StatusOr<std::string_view> CharsetDecoder::convert_pieces(std::string_view piece) {
  pieces_ = Pieces::converted;
  Converters::Entry* entry = converters_->find(decoding_.charset);
  if (entry == nullptr) return unknown_charset();
  converters_->begin(*entry);
  converters_->convert_on(*entry, piece, false, out_);
  return out_;
}

}  // namespace doppel
