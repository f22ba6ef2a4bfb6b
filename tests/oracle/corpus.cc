#include "oracle/corpus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "oracle/edits.h"

namespace doppel::oracle {
namespace {

constexpr int64_t kFirstDay = 1'704'067'200'000;  // 2024-01-01
constexpr int64_t kMillisecondsPerDocument = 4'000;
constexpr uint64_t kTemplates = 12;
constexpr uint64_t kMaxUnits = 12'000;  // joined copies of joined copies do not grow without end

// Independent streams of random numbers for the parts of one document.
enum Purpose : uint64_t { plan_stream, edit_stream, meta_stream, template_stream, kPurposes };
Random stream(const CorpusOptions& options, uint64_t number, Purpose purpose) {
  return {options.seed * kPurposes + purpose, number};
}

struct Plan {
  Edit edit = Edit::original;
  uint64_t origin = 0;  // of copies; of hot pages: the template
};

struct Weight {
  Edit edit;
  int weight;
};
constexpr Weight kCopies[] = {{Edit::exact, 14},  {Edit::restyled, 14},    {Edit::words, 38},
                              {Edit::moved, 6},   {Edit::boilerplate, 10}, {Edit::truncated, 8},
                              {Edit::numbers, 7}, {Edit::joined, 3}};

bool is_copy(Edit edit) { return edit >= Edit::exact && edit <= Edit::joined; }

Plan plan_of(const CorpusOptions& options, uint64_t number) {
  Random random = stream(options, number, plan_stream);
  if (number > 0 && random.chance(options.copies)) {
    int total = 0;
    for (const Weight& w : kCopies) total += w.weight;
    auto left = static_cast<int>(random.below(static_cast<uint64_t>(total)));
    Edit edit = Edit::words;
    for (const Weight& w : kCopies) {
      if (left < w.weight) {
        edit = w.edit;
        break;
      }
      left -= w.weight;
    }
    uint64_t recent = std::min<uint64_t>(number, 1'000);
    uint64_t origin = random.chance(0.7) ? number - 1 - random.below(recent) : random.below(number);
    // Mostly copies of originals, some copies of copies.
    while (random.chance(0.7)) {
      Plan plan = plan_of(options, origin);
      if (!is_copy(plan.edit)) break;
      origin = plan.origin;
    }
    return {edit, origin};
  }
  if (options.english) return {};
  double what = random.unit();
  if (what < 0.005) return {Edit::empty, 0};
  if (what < 0.045) return {Edit::tiny, 0};
  if (what < 0.145) {
    double u = random.unit();  // a few templates are very hot
    return {Edit::hot, static_cast<uint64_t>(u * u * kTemplates)};
  }
  return {};
}

Language language_of(const CorpusOptions& options, Random& random) {
  if (options.english || random.chance(0.5)) return Language::english;
  return static_cast<Language>(random.below(kLanguages));
}

// Returns 40 to 3,000 words, log-normal.
size_t length_of(const CorpusOptions& options, Random& random) {
  double normal = 0;
  for (int i = 0; i < 12; ++i) normal += random.unit();
  normal -= 6;
  double words = options.mean_words * 0.72 * std::exp(0.8 * normal);
  return static_cast<size_t>(std::clamp(words, 40.0, 3000.0));
}

// Returns how similar an edited copy should be: from .3 to 1, mostly around the usual threshold.
double wanted_jaccard(Random& random) {
  return random.chance(0.7) ? 0.68 + 0.26 * random.unit() : 0.3 + 0.7 * random.unit();
}

struct Draft {
  Language language = Language::english;
  std::string text;
};

Draft write_original(const CorpusOptions& options, uint64_t number, const Plan& plan) {
  Random random = stream(options, number, edit_stream);
  Draft draft;
  Units units;
  if (plan.edit == Edit::hot) {
    // The page of a shop: the same words except for some slots. The number of slots depends on the template.
    Random page = stream(options, plan.origin, template_stream);
    draft.language = language_of(options, page);
    write_text(draft.language, page.between(80, 700), page, units);
    for (uint64_t slots = page.between(1, 6 + units.size() / 25); slots > 0; --slots) {
      units[page.below(units.size())] = random_word(draft.language, random);
    }
  } else {
    draft.language = language_of(options, random);
    size_t length = plan.edit == Edit::tiny ? random.between(0, 6) : length_of(options, random);
    if (plan.edit != Edit::empty) write_text(draft.language, length, random, units);
  }
  draft.text = join(draft.language, units);
  return draft;
}

Draft write_draft(const CorpusOptions& options, uint64_t number) {
  Plan plan = plan_of(options, number);
  if (!is_copy(plan.edit)) return write_original(options, number, plan);
  Draft draft = write_draft(options, plan.origin);
  Random random = stream(options, number, edit_stream);
  if (plan.edit == Edit::exact) return draft;
  if (plan.edit == Edit::restyled) {
    draft.text = restyle(draft.text, random);
    return draft;
  }
  Units units = split(draft.language, draft.text);
  switch (plan.edit) {
    case Edit::words:
      edit_words(draft.language, wanted_jaccard(random), random, units);
      break;
    case Edit::moved:
      move_sentences(random, units);
      break;
    case Edit::boilerplate:
      add_boilerplate(draft.language, random, units);
      break;
    case Edit::truncated:
      truncate(wanted_jaccard(random), units);
      break;
    case Edit::numbers:
      change_numbers(random, units);
      break;
    case Edit::joined: {
      Draft other = write_draft(options, random.below(number));
      for (std::string& unit : split(other.language, other.text)) units.push_back(std::move(unit));
      break;
    }
    default:
      break;
  }
  if (units.size() > kMaxUnits) units.resize(kMaxUnits);
  draft.text = join(draft.language, units);
  return draft;
}

std::optional<int64_t> time_of(uint64_t number, Random& random) {
  if (random.chance(0.005)) return std::nullopt;
  if (random.chance(0.003))
    return static_cast<int64_t>(random.below(86'400'000));  // 1970: a clock that was never set
  if (random.chance(0.002))
    return 4'102'444'800'000 + static_cast<int64_t>(random.below(86'400'000));  // 2100
  int64_t late = random.chance(0.05) ? static_cast<int64_t>(random.below(3'600'000))
                                     : static_cast<int64_t>(random.below(5'000));
  return kFirstDay + static_cast<int64_t>(number) * kMillisecondsPerDocument - late;
}

std::string url_of(const CorpusOptions& options, uint64_t number, const Plan& plan) {
  Random random = stream(options, number, meta_stream);
  // Some copies are fetches of the same page.
  if (is_copy(plan.edit) && random.chance(0.1))
    return url_of(options, plan.origin, plan_of(options, plan.origin));
  return "https://site" + std::to_string(random.below(200)) + ".example/" +
         std::to_string(random.between(2020, 2026)) + "/" + random_word(Language::english, random) + "-" +
         std::to_string(number);
}

void append_json(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out.push_back('"');
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

}  // namespace

std::string_view edit_name(Edit edit) {
  constexpr std::string_view kNames[kEdits] = {"original", "exact",       "restyled",  "words",
                                               "moved",    "boilerplate", "truncated", "numbers",
                                               "joined",   "hot",         "tiny",      "empty"};
  return kNames[static_cast<int>(edit)];
}

CorpusDocument make_document(const CorpusOptions& options, uint64_t number) {
  Plan plan = plan_of(options, number);
  Draft draft = write_draft(options, number);
  CorpusDocument document;
  std::string digits = std::to_string(number);
  document.id = "doc-" + std::string(digits.size() < 7 ? 7 - digits.size() : 0, '0') + digits;
  document.text = std::move(draft.text);
  document.language = draft.language;
  document.edit = plan.edit;
  if (is_copy(plan.edit)) document.origin = plan.origin;
  document.url = url_of(options, number, plan);
  Random random = stream(options, number, meta_stream);
  random.next();
  document.timestamp_ms = time_of(number, random);
  return document;
}

std::string to_json(const CorpusDocument& document) {
  std::string out = "{\"id\":";
  append_json(document.id, out);
  out += ",\"url\":";
  append_json(document.url, out);
  if (document.timestamp_ms) {
    auto seconds = static_cast<time_t>(*document.timestamp_ms / 1000);
    std::tm tm{};
    gmtime_r(&seconds, &tm);
    std::array<char, 40> date{};
    size_t n = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &tm);
    std::string millis = std::to_string(1000 + *document.timestamp_ms % 1000).substr(1);
    append_json(std::string(date.data(), n) + "." + millis + "Z", out.append(",\"date\":"));
  }
  append_json(document.text, out.append(",\"text\":"));
  out += "}";
  return out;
}

}  // namespace doppel::oracle
