#include "insight/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "insight/text_page.h"
#include "sketch/compact_set.h"

namespace doppel {
namespace {

struct Measured {
  SignedDocument document;
  PodVector<uint8_t> slices;
  PodVector<uint64_t> slots;
  PodVector<uint64_t> shingles;  // distinct, ascending
  CompactSet set;
  bool has_set = false;
};

bool holds_other_bytes(std::string_view text) {
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t i = 0; i < text.size();) {
    char32_t c = 0;
    const int size = utf8::decode(p + i, text.size() - i, c);
    if (size <= 0 || c == 0) return true;
    i += size;
  }
  return false;
}

// Asks for prints, so that the shingles stay in order. Signatures do not depend on prints.
Scheme in_order(const EngineOptions& options) {
  Scheme out = options.scheme;
  if (out.passage == 0) out.passage = relations_to_explain(options).passage;
  return out;
}

Measured measure(const Scheme& scheme, const NamedText& input, ExplainedText& out) {
  Measured m;
  m.slices.resize(scheme.num_perm);
  Signer(scheme).sign(input.text, input.scope, m.document, m.slices.data());
  Shingler shingler(scheme.key, scheme.shingle_words, scheme.normalisation);
  shingler.update(input.text, m.shingles);
  shingler.finish(m.shingles);
  Sketcher sketcher(scheme.family, scheme.num_perm, scheme.key);
  m.slots.resize(scheme.num_perm);
  sketcher.clear(m.slots.data());
  sketcher.update(m.slots.data(), m.shingles);
  std::sort(m.shingles.begin(), m.shingles.end());
  m.shingles.erase(std::unique(m.shingles.begin(), m.shingles.end()), m.shingles.end());

  out = {.name = input.name, .text = input.text, .scope = input.scope, .bytes = input.text.size()};
  out.words = shingler.words_seen();
  out.shingles = m.shingles.size();
  out.content = m.document.content;
  out.set_left_out = m.document.set_left_out;
  out.not_text = holds_other_bytes(input.text);
  m.has_set = out.content == Content::shingled && !out.set_left_out;
  if (m.has_set) {
    make_compact_set(m.document.tops, m.set);
    std::string coded;
    encode_compact_set(m.set, coded);
    out.set_bytes = coded.size();
    out.set_bits = m.set.bits;
  }
  return m;
}

Overlap overlap_of_shingles(const PodVector<uint64_t>& a, const PodVector<uint64_t>& b) {
  uint64_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    both += a[i] == b[j] ? 1 : 0;
    const bool step_a = a[i] <= b[j];
    const bool step_b = b[j] <= a[i];
    i += step_a ? 1 : 0;
    j += step_b ? 1 : 0;
  }
  return {both, a.size() + b.size() - both};
}

Finding find(const Explanation& e) {
  if (e.a.content == Content::empty || e.b.content == Content::empty) return Finding::no_text;
  if (e.a.scope != e.b.scope) return Finding::scopes;
  if (!e.comparable) return Finding::too_short;
  const bool enough = reaches(e.decisive, e.rule.threshold_ppm);
  if (e.bands_met() == 0) return enough ? Finding::missed : Finding::apart;
  if (e.equal_slices < e.rule.min_equal) return Finding::prefilter;
  return enough ? Finding::near : Finding::near_miss;
}

}  // namespace

std::string_view finding_name(Finding finding) {
  switch (finding) {
    case Finding::exact:
      return "exact";
    case Finding::near:
      return "near";
    case Finding::contained:
      return "contained";
    case Finding::near_miss:
      return "near_miss";
    case Finding::prefilter:
      return "prefilter";
    case Finding::apart:
      return "apart";
    case Finding::missed:
      return "missed";
    case Finding::scopes:
      return "scopes";
    case Finding::too_short:
      return "too_short";
    case Finding::no_text:
      return "no_text";
  }
  return "";
}

int Explanation::bands_met() const { return static_cast<int>(std::count(bands.begin(), bands.end(), true)); }

double Explanation::meets() const {
  return exact.uni == 0
             ? 0
             : meeting_probability(static_cast<double>(exact.inter) / static_cast<double>(exact.uni),
                                   rule.banding);
}

Explanation explain(const EngineOptions& options, const NamedText& a, const NamedText& b) {
  Explanation e;
  e.rule = options.rule;
  e.num_perm = options.scheme.num_perm;
  e.shingle_words = options.scheme.shingle_words;
  e.family = options.scheme.family;
  const Scheme scheme = in_order(options);
  Measured ma = measure(scheme, a, e.a);
  Measured mb = measure(scheme, b, e.b);
  e.comparable = a.scope == b.scope && e.a.content == Content::shingled && e.b.content == Content::shingled;
  if (e.comparable) {
    e.exact = overlap_of_shingles(ma.shingles, mb.shingles);
    e.slots = estimate_jaccard(ma.slots.data(), mb.slots.data(), e.num_perm);
    e.equal_slices = equal_slices(ma.slices.data(), mb.slices.data(), e.num_perm);
    e.slices = overlap_from_slices(e.equal_slices, e.num_perm);
    if (ma.has_set && mb.has_set) e.sets = overlap(ma.set, mb.set);
    e.estimated = e.rule.verify == Verify::signature || !e.sets.has_value();
    e.decisive = e.estimated ? e.slices : *e.sets;
    for (int band = 0; band < e.rule.banding.bands; ++band) {
      const size_t first = static_cast<size_t>(band) * e.rule.banding.rows;
      e.bands.push_back(
          std::memcmp(ma.slices.data() + first, mb.slices.data() + first, e.rule.banding.rows) == 0);
    }
  }
  e.finding = find(e);
  if (e.comparable && e.sets.has_value() && !e.estimated) {
    e.passages =
        common_passages(options, {a.text, ma.document.tops, ma.set}, {b.text, mb.document.tops, mb.set});
    if (options.rule.relations.partial_duplicate && e.passages->asked && e.finding != Finding::near &&
        e.passages->relation == Relation::contained)
      e.finding = Finding::contained;
  }
  const bool text_in_both = e.a.content != Content::empty && e.b.content != Content::empty;
  if (text_in_both && ma.document.digest == mb.document.digest) e.finding = Finding::exact;
  return e;
}

// The relation of the second text to the first one, if the finding does not say it.
static std::string relation_in_words(const Explanation& e) {
  if (!e.passages.has_value() || !e.passages->relation.has_value() || e.finding == Finding::exact ||
      e.finding == Finding::near)
    return "";
  const CommonPassages& p = *e.passages;
  const std::string_view name = relation_name(*p.relation);
  const std::string reported = e.finding == Finding::contained
                                   ? "It is a duplicate, because partial is duplicate."
                               : p.asked ? fmt::format("It is reported as {}.", name)
                                         : fmt::format("With {} in `relations` it would be reported.", name);
  const auto share = [&](uint64_t all) {
    return fmt::format("{:.6f}", similarity_ppm({p.shared, all}) / 1e6);
  };
  return fmt::format("The first one has {} of the second, the second {} of the first one: {} shingles. {}",
                     share(p.second), share(p.first), with_commas(p.shared), reported);
}

bool is_similar(const Explanation& e) {
  const uint32_t from = e.rule.relations.similar_ppm;
  if (e.passages.has_value() && e.passages->asked && e.passages->relation.has_value()) return false;
  return e.finding == Finding::near_miss && from != 0 && reaches(e.decisive, from);
}

PlainWords in_plain_words(const Explanation& e) {
  PlainWords words;
  auto& say = words.sentences;
  const std::string threshold = fmt::format("{:g}", e.rule.threshold_ppm / 1e6);
  const std::string similarity = fmt::format("{:.6f}", similarity_ppm(e.decisive) / 1e6);
  const std::string shared = fmt::format("{} of {} shingles are in both", with_commas(e.decisive.inter),
                                         with_commas(e.decisive.uni));
  const int met = e.bands_met();
  const std::string bands = fmt::format("{} of {} bands", met, e.bands.size());
  const std::string decided_by =
      e.estimated ? fmt::format("estimated from {} of {} equal slices, as no sets were compared",
                                e.equal_slices, e.num_perm)
                  : shared;
  switch (e.finding) {
    case Finding::exact:
      words.headline = "exact duplicate";
      say.push_back("Both texts are the same, byte for byte: their digests are equal.");
      break;
    case Finding::near:
      words.headline = "near duplicate";
      say.push_back(
          fmt::format("Similarity {} reaches the threshold {}: {}.", similarity, threshold, decided_by));
      say.push_back(fmt::format("They share {}, so the pair was found and verified.", bands));
      break;
    case Finding::contained:
      words.headline = "duplicate: the first one has most of it";
      say.push_back(
          fmt::format("Similarity {} is below the threshold {}: {}.", similarity, threshold, decided_by));
      break;
    case Finding::near_miss:
      words.headline = "not a duplicate: a near miss";
      say.push_back(
          fmt::format("Similarity {} is below the threshold {}: {}.", similarity, threshold, decided_by));
      say.push_back(fmt::format("They share {}, so the pair was found and verified, and {}.", bands,
                                is_similar(e) ? "is reported as similar" : "rejected"));
      break;
    case Finding::prefilter:
      words.headline = "not a duplicate: not similar enough to be verified";
      say.push_back(
          fmt::format("They share {}, but only {} of {} slices are equal. A pair at the threshold {} has at "
                      "least {}, except for one pair in some millions.",
                      bands, e.equal_slices, e.num_perm, threshold, e.rule.min_equal));
      say.push_back(fmt::format("The similarity is {}: {}.", similarity, decided_by));
      break;
    case Finding::apart:
      words.headline = "not a duplicate: they share no band";
      say.push_back(
          fmt::format("No band is equal, so the pair is not a candidate and would not be compared. A pair of "
                      "this similarity shares a band with a probability of {}.",
                      as_chance(e.meets())));
      say.push_back(fmt::format("The similarity is {}, below the threshold {}: {}.", similarity, threshold,
                                decided_by));
      break;
    case Finding::missed:
      words.headline = "missed: similar enough, but they share no band";
      say.push_back(
          fmt::format("Similarity {} reaches the threshold {}: {}.", similarity, threshold, decided_by));
      say.push_back(
          fmt::format("But no band is equal, so doppel would not find the pair. That happens to {} of pairs "
                      "of this similarity. With another hash key other bands would be equal.",
                      as_chance(1 - e.meets())));
      break;
    case Finding::scopes:
      words.headline = "not a duplicate: different scopes";
      say.push_back(fmt::format(
          "Their scopes differ ({} and {}), and documents of different scopes are never compared.",
          one_line(e.a.scope, 40), one_line(e.b.scope, 40)));
      break;
    case Finding::too_short:
      words.headline = "not a duplicate: too short to compare";
      say.push_back(fmt::format(
          "A shingle is {} words, and {} has only {}; such a text is a duplicate only of the same text, "
          "byte for byte.",
          e.shingle_words, e.a.content == Content::shingled ? "the second" : "the first",
          e.a.content == Content::shingled ? e.b.words : e.a.words));
      break;
    case Finding::no_text:
      words.headline = "not scored: no text";
      say.push_back(fmt::format("{} empty; a document without text is neither an original nor a duplicate.",
                                e.a.content == e.b.content      ? "Both are"
                                : e.a.content == Content::empty ? "The first one is"
                                                                : "The second one is"));
      break;
  }
  if (const std::string relation = relation_in_words(e); !relation.empty()) say.push_back(relation);
  if (e.comparable && !e.estimated &&
      reaches(e.exact, e.rule.threshold_ppm) != reaches(e.decisive, e.rule.threshold_ppm)) {
    say.push_back(
        fmt::format("Compact sets decide ({} of {}): they keep {} bits of a shingle, and this pair is so "
                    "near the threshold that the rounding matters.",
                    e.decisive.inter, e.decisive.uni, std::min(e.a.set_bits, e.b.set_bits)));
  }
  for (const auto* side : {&e.a, &e.b}) {
    if (side->not_text) {
      say.push_back(
          fmt::format("{} holds bytes that are not UTF-8 text (a binary file?); they only separate words.",
                      one_line(side->name, 80)));
    }
  }
  return words;
}

namespace {

constexpr size_t kContext = 25;  // equal words shown next to a change

constexpr std::string_view kBands = R"(
.bands { display: flex; flex-wrap: wrap; gap: 4px; margin: 0 0 8px; padding: 0; list-style: none; }
.bands li { width: 26px; height: 26px; border-radius: 4px; border: 2px solid var(--line); font-size: 11px;
  line-height: 22px; text-align: center; color: var(--quiet); font-variant-numeric: tabular-nums; }
.bands li.equal { background: var(--band); border-color: var(--band); color: var(--ground); font-weight: 600; }
)";

void add_passages(Lines& page, const Explanation& e) {
  page.line("<h2>Passages that both have</h2>");
  add_row(page, marked(e.a.text, e.passages->in_first), marked(e.b.text, e.passages->in_second));
}

void add_texts(Lines& page, const Explanation& e, const TextDiff& diff) {
  page.line(R"(<div class="heads">)");
  for (const auto* side : {&e.a, &e.b}) {
    page.line(R"(<div><b>{} &nbsp;{}</b><span>{} bytes, {} words, {} shingles</span></div>)",
              side == &e.a ? 'A' : 'B', html_escape(one_line(side->name, 200)), with_commas(side->bytes),
              with_commas(side->words), with_commas(side->shingles));
  }
  page.line("</div>");
  add_differences(page, diff, {.context = kContext});
}

}  // namespace

std::vector<Measure> measures(const Explanation& e) {
  auto value = [](Overlap overlap) { return fmt::format("{:.6f}", similarity_ppm(overlap) / 1e6); };
  std::vector<Measure> out;
  out.push_back({"shingles", value(e.exact),
                 fmt::format("{} of {} runs of {} words are in both", with_commas(e.exact.inter),
                             with_commas(e.exact.uni), e.shingle_words)});
  if (e.sets.has_value()) {
    out.push_back({"compact sets", value(*e.sets),
                   fmt::format("{} of {}, kept at {} bits each; {} and {} bytes{}",
                               with_commas(e.sets->inter), with_commas(e.sets->uni),
                               std::min(e.a.set_bits, e.b.set_bits), with_commas(e.a.set_bytes),
                               with_commas(e.b.set_bytes), e.estimated ? "" : "; decides")});
  }
  out.push_back({"signature", value(e.slices),
                 fmt::format("{} of {} slices are equal, {} are needed to be verified{}", e.equal_slices,
                             e.num_perm, e.rule.min_equal, e.estimated ? "; decides" : "")});
  out.push_back({"chance to meet", as_chance(e.meets()),
                 fmt::format("of a pair this similar, in {} bands of {} rows", e.rule.banding.bands,
                             e.rule.banding.rows)});
  return out;
}

bool shows_passages(const Explanation& e) {
  return e.passages.has_value() && !e.passages->in_second.empty() && e.finding != Finding::exact &&
         e.finding != Finding::near;
}

std::vector<std::string> passages_in_words(std::string_view text, const std::vector<Passage>& passages) {
  constexpr size_t kShown = 100;  // characters
  std::vector<std::string> out;
  for (const Passage& p : passages) {
    const std::string_view all = text.substr(p.bytes.begin, p.bytes.end - p.bytes.begin);
    out.push_back(fmt::format("words {} to {}, bytes {} to {}: {}", with_commas(p.words.begin),
                              with_commas(p.words.end), with_commas(p.bytes.begin), with_commas(p.bytes.end),
                              one_line(all, kShown)));
  }
  return out;
}

static std::string count_of_words(uint64_t n) { return with_commas(n) + (n == 1 ? " word" : " words"); }

std::string difference_in_words(const TextDiff& diff) {
  if (diff.a_words.empty() && diff.b_words.empty()) return "Neither text has words.";
  if (diff.removed + diff.added == 0) {
    return diff.a == diff.b
               ? "Nothing differs."
               : "No word differs. Only case, spacing or punctuation differ, which do not count.";
  }
  return fmt::format("What differs: {} removed, {} added, {} equal.{}", count_of_words(diff.removed),
                     with_commas(diff.added), with_commas(diff.equal),
                     diff.shortest ? "" : " (The texts are too different for the shortest difference.)");
}

std::string explain_page(const Explanation& e, const TextDiff& diff) {
  const PlainWords words = in_plain_words(e);
  Lines page;
  begin_page(page,
             fmt::format("{}: {} and {}", words.headline, one_line(e.a.name, 80), one_line(e.b.name, 80)),
             kBands);
  std::string headline = words.headline;
  headline.front() = static_cast<char>(headline.front() - 'a' + 'A');
  page.line(R"(<h1{}>{}</h1>)", is_duplicate(e.finding) ? R"( class="duplicate")" : "",
            html_escape(headline));
  for (const std::string& sentence : words.sentences) page.line("<p>{}</p>", html_escape(sentence));
  if (e.comparable) {
    page.line(R"(<dl class="numbers">)");
    for (const Measure& m : measures(e)) {
      page.line(R"(<div><dt>{}</dt><dd class="value">{}</dd><dd class="detail">{}</dd></div>)",
                html_escape(m.name), html_escape(m.value), html_escape(m.detail));
    }
    page.line("</dl>");
    page.line("<h2>{} of {} bands are equal</h2>\n<ol class=\"bands\">", e.bands_met(), e.bands.size());
    for (size_t i = 0; i < e.bands.size(); ++i) {
      page.line(R"(<li{} title="band {}: {}">{}</li>)", e.bands[i] ? R"( class="equal")" : "", i + 1,
                e.bands[i] ? "equal" : "different", i + 1);
    }
    page.line("</ol>\n<p class=\"quiet\">One is enough for a pair to be found.</p>");
  }
  if (shows_passages(e)) add_passages(page, e);
  page.line("<h2>{}</h2>", html_escape(difference_in_words(diff)));
  add_texts(page, e, diff);
  end_page(page);
  return page.take();
}

}  // namespace doppel
