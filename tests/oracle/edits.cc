#include "oracle/edits.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace doppel::oracle {
namespace {

constexpr uint64_t kSites = 40;  // each with its own header and footer

bool ends_sentence(const std::string& unit) {
  for (std::string_view end : {".", "?", "\n", "。", "।"}) {
    if (unit.ends_with(end)) return true;
  }
  return false;
}

bool has_digit(const std::string& unit) {
  return std::any_of(unit.begin(), unit.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Changes the word of a unit, and keeps everything around it.
void replace_word(Language language, Random& random, std::string& unit) {
  std::string tail;
  for (std::string_view end : {",", ".", ".\n", ".\n\n"}) {
    if (unit.ends_with(end)) tail = end;
  }
  unit = random_word(language, random) + tail;
}

icu::UnicodeString normalise(const icu::UnicodeString& text, const char* name, UNormalization2Mode mode) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getInstance(nullptr, name, mode, error);
  icu::UnicodeString out = form->normalize(text, error);
  if (U_FAILURE(error)) std::abort();
  return out;
}

// Applies one of the styles below to each ASCII character of its kind.
icu::UnicodeString restyle_ascii(const icu::UnicodeString& text, Random& random) {
  bool wide = random.chance(0.25), spaces = random.chance(0.4), punctuation = random.chance(0.4);
  bool invisible = random.chance(0.2);
  constexpr UChar32 kSpaces[] = {0x00a0, 0x2009, 0x3000, 0x202f, '\n', '\t'};
  constexpr UChar32 kDashes[] = {0x2010, 0x2013, 0x2014, 0x2212};
  constexpr UChar32 kQuotes[] = {0x201c, 0x201d, 0x00ab, 0x201e};
  constexpr UChar32 kApostrophes[] = {0x2019, 0x2018, 0x2032};
  constexpr UChar32 kStops[] = {'!', ';', 0x2026, ':'};
  icu::UnicodeString out;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    UChar32 c = text.char32At(i);
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (invisible && word && random.chance(0.05)) out.append(static_cast<UChar32>(0x00ad));
    if (spaces && c == ' ') {
      out.append(random.chance(0.3) ? random.pick(kSpaces, 6) : c);
      if (random.chance(0.1)) out.append(static_cast<UChar32>(' '));
    } else if (punctuation && c == '-') {
      out.append(random.pick(kDashes, 4));
    } else if (punctuation && c == '"') {
      out.append(random.pick(kQuotes, 4));
    } else if (punctuation && c == '\'') {
      out.append(random.pick(kApostrophes, 3));
    } else if (punctuation && c == '.' && random.chance(0.3)) {
      out.append(random.pick(kStops, 4));
    } else if (wide && c > ' ' && c < 0x7f) {
      out.append(static_cast<UChar32>(c - 0x20 + 0xff00));
    } else {
      out.append(c);
    }
  }
  return out;
}

}  // namespace

void edit_words(Language language, double jaccard, Random& random, Units& units) {
  // A shingle survives if its five words do; of n shingles each, s n survive: J = s / (2 - s).
  double survive = 2 * jaccard / (1 + jaccard);
  double rate = 1 - std::pow(survive, 0.2);
  double replace = random.unit(),
         insert = random.unit();  // shares of the three kinds of edit differ by document
  Units out;
  out.reserve(units.size() + units.size() / 4);
  for (std::string& unit : units) {
    if (random.chance(rate)) {
      if (random.chance(replace)) {
        replace_word(language, random, unit);
      } else if (random.chance(insert)) {
        out.push_back(random_word(language, random));
      } else {
        continue;
      }
    }
    out.push_back(std::move(unit));
  }
  units = std::move(out);
}

void move_sentences(Random& random, Units& units) {
  std::vector<Units> sentences(1);
  for (std::string& unit : units) {
    bool end = ends_sentence(unit);
    sentences.back().push_back(std::move(unit));
    if (end) sentences.emplace_back();
  }
  for (uint64_t n = random.between(1, 1 + sentences.size() / 6); n > 0; --n) {
    size_t from = random.below(sentences.size());
    Units moved = std::move(sentences[from]);
    sentences.erase(sentences.begin() + static_cast<ptrdiff_t>(from));
    sentences.insert(sentences.begin() + static_cast<ptrdiff_t>(random.below(sentences.size() + 1)),
                     std::move(moved));
  }
  units.clear();
  for (Units& sentence : sentences) std::move(sentence.begin(), sentence.end(), std::back_inserter(units));
}

void change_numbers(Random& random, Units& units) {
  for (std::string& unit : units) {
    if (!has_digit(unit)) continue;
    for (char& c : unit) {
      if (c >= '0' && c <= '9' && random.chance(0.7)) c = static_cast<char>('0' + random.below(10));
    }
  }
}

void add_boilerplate(Language language, Random& random, Units& units) {
  Random site(0x73697465, random.below(kSites) * kLanguages + static_cast<uint64_t>(language));
  Units page, footer;
  write_text(language, site.between(5, 60), site, page);
  write_text(language, site.between(5, 120), site, footer);
  std::move(units.begin(), units.end(), std::back_inserter(page));
  std::move(footer.begin(), footer.end(), std::back_inserter(page));
  units = std::move(page);
}

void truncate(double keep, Units& units) {
  units.resize(static_cast<size_t>(std::ceil(static_cast<double>(units.size()) * keep)));
}

std::string restyle(std::string_view text, Random& random) {
  icu::UnicodeString s =
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  switch (random.below(4)) {
    case 0:
      s = normalise(s, "nfc", UNORM2_DECOMPOSE);
      break;
    case 1:
      s = normalise(s, "nfkc", UNORM2_DECOMPOSE);
      break;
    case 2:
      s = normalise(s, "nfc", UNORM2_COMPOSE);
      break;
    default:
      break;
  }
  switch (random.below(4)) {
    case 0:
      s.toUpper(icu::Locale::getRoot());
      break;
    case 1:
      s.toLower(icu::Locale::getRoot());
      break;
    default:
      break;
  }
  s = restyle_ascii(s, random);
  std::string out;
  s.toUTF8String(out);
  if (out == text) out += " .";
  return out;
}

}  // namespace doppel::oracle
