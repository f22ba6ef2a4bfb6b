// ICU converts and uchardet detects; this file decides which of several declarations counts.

#include "formats/bytes/charset.h"

#include <simdjson.h>
#include <uchardet.h>
#include <unicode/ucnv.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

#include "formats/bytes/charset_labels.h"

namespace doppel {
namespace {

constexpr size_t kMetaBytes = 1024;
constexpr size_t kLookBytes = 4096;
constexpr size_t kDetectBytes = 64 << 10;

constexpr std::string_view kUtf8 = "utf-8";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
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

// Detects UTF-16 of mostly Latin text without a byte order mark: zeros at even or odd positions only.
std::string_view wide_without_mark(std::string_view bytes) {
  bytes = bytes.substr(0, kLookBytes);
  size_t zeros[2] = {0, 0};
  for (size_t i = 0; i < bytes.size(); ++i) zeros[i % 2] += bytes[i] == '\0' ? 1 : 0;
  if (zeros[1] * 5 > bytes.size() && zeros[0] == 0) return "utf-16le";
  if (zeros[0] * 5 > bytes.size() && zeros[1] == 0) return "utf-16be";
  return {};
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

}  // namespace

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
    from.errors = 0;
    ucnv_reset(from.converter);
    UErrorCode error = U_ZERO_ERROR;
    std::array<UChar, 4096> pivot;
    UChar* pivot_source = pivot.data();
    UChar* pivot_target = pivot.data();
    const char* source = bytes.data();
    const char* end = source + bytes.size();
    out.resize(bytes.size() + bytes.size() / 2 + 64);
    size_t done = 0;
    bool first = true;
    for (;;) {
      char* target = out.data() + done;
      error = U_ZERO_ERROR;
      ucnv_convertEx(utf8, from.converter, &target, out.data() + out.size(), &source, end, pivot.data(),
                     &pivot_source, &pivot_target, pivot.data() + pivot.size(), first ? 1 : 0, 1, &error);
      first = false;
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
  if (zeros > 0) return wide_without_mark(bytes).empty();
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

std::string_view CharsetDecoder::decode(std::string_view bytes, std::string_view declared, bool html) {
  std::optional<size_t> fewest;
  // Returns true if `name` decodes without errors; the result is in out_. Otherwise out_ keeps the best
  // result so far.
  auto attempt = [&](const std::string& name) {
    if (name == kIso8859_16Name) {  // every byte is valid
      fewest = 0;
      convert_iso8859_16(bytes, out_);
      return true;
    }
    Converters::Entry* entry = converters_->find(name);
    if (entry == nullptr) return false;
    const size_t errors = converters_->convert(*entry, bytes, other_);
    if (!fewest || errors < *fewest) {
      fewest = errors;
      out_.swap(other_);
    }
    return errors == 0;
  };

  if (const ByteOrderMark* mark = mark_of(bytes)) {
    bytes.remove_prefix(mark->bytes.size());
    if (mark->charset == kUtf8 && simdjson::validate_utf8(bytes.data(), bytes.size())) return bytes;
    attempt(std::string(mark->charset));
    return out_;
  }
  const Unusual found = unusual(bytes);
  if (!found.high && !found.shifts) return bytes;
  if (found.high && simdjson::validate_utf8(bytes.data(), bytes.size())) return bytes;
  if (!declared.empty() && attempt(charset_of_label(declared))) return out_;
  if (html) {
    std::string meta = charset_of_label(charset_of_meta(bytes));
    // The tag was readable as ASCII, so the text is not UTF-16.
    if (meta.starts_with("utf-16")) meta = kUtf8;
    if (!meta.empty() && attempt(meta)) return out_;
  }
  if (std::string_view wide = wide_without_mark(bytes); !wide.empty() && attempt(std::string(wide)))
    return out_;
  // If only few of the high bytes are errors in UTF-8, the text is damaged UTF-8: in other charsets, fewer of
  // them look like UTF-8.
  constexpr size_t kOneIn = 20;
  const auto high = static_cast<size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](char c) { return static_cast<signed char>(c) < 0; }));
  Converters::Entry* utf8 = high > 0 ? converters_->find(std::string(kUtf8)) : nullptr;
  if (utf8 != nullptr && converters_->convert(*utf8, bytes, other_) * kOneIn <= high) return other_;
  if (attempt(converters_->detect(bytes))) return out_;
  if (!found.high && !fewest) return bytes;
  // No charset fits. Keeps the declared one if ICU knows it.
  if (declared.empty() || !fewest) attempt("windows-1252");
  return out_;
}

}  // namespace doppel
