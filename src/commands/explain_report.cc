#include "commands/explain_report.h"

#include <iterator>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "insight/explanation.h"
#include "insight/json_writer.h"
#include "insight/show.h"

namespace doppel {
namespace {

std::string band_marks(const Explanation& e, bool utf8) {
  std::string out;
  for (bool equal : e.bands) {
    if (!out.empty() && utf8 && e.bands.size() <= 32) out += ' ';
    out += utf8 ? (equal ? "■" : "□") : (equal ? "#" : ".");
  }
  return out;
}

void json_side(JsonWriter& json, std::string_view key, const ExplainedText& side) {
  json.open(key, '{');
  json.text("name", side.name);
  if (!side.scope.empty()) json.text("scope", side.scope);
  json.number("bytes", side.bytes);
  json.number("words", side.words);
  json.number("shingles", side.shingles);
  json.number("set_bytes", side.set_bytes);
  json.close();
}

void json_overlap(JsonWriter& json, std::string_view key, Overlap overlap) {
  json.open(key, '{');
  json.real("similarity", similarity_ppm(overlap) / 1e6);
  json.number("inter", overlap.inter);
  json.number("union", overlap.uni);
  json.close();
}

void json_passages(JsonWriter& json, const CommonPassages& p) {
  json.open("passages", '{');
  if (p.relation.has_value()) {
    json.text("relation", relation_name(*p.relation));
  } else {
    json.null("relation");
  }
  json.boolean("asked", p.asked);
  json.number("shared", p.shared);
  json.real("of_a", similarity_ppm({p.shared, p.first}) / 1e6);
  json.real("of_b", similarity_ppm({p.shared, p.second}) / 1e6);
  const auto range = [&](std::string_view key, uint64_t begin, uint64_t end) {
    json.open(key, '[');
    json.number("", begin);
    json.number("", end);
    json.close();
  };
  for (const auto& [key, passages] : {std::pair("in_a", &p.in_first), std::pair("in_b", &p.in_second)}) {
    json.open(key, '[');
    for (const Passage& passage : *passages) {
      json.open("", '{');
      range("words", passage.words.begin, passage.words.end);
      range("bytes", passage.bytes.begin, passage.bytes.end);
      json.close();
    }
    json.close();
  }
  json.close();
}

}  // namespace

std::string explain_text(const Explanation& e, const TextDiff& diff, const ExplainStyle& style) {
  std::string out;
  auto line = [&out](std::string_view text) {
    out += text;
    out += '\n';
  };
  const PlainWords words = in_plain_words(e);
  line(style.colour ? fmt::format("\x1b[1m{}\x1b[0m", words.headline) : words.headline);
  for (const std::string& sentence : words.sentences) line("  " + sentence);
  line("");
  const std::string first = one_line(e.a.name, 60);
  const std::string second = one_line(e.b.name, 60);
  const size_t width = std::max(first.size(), second.size());
  for (const auto* side : {&e.a, &e.b}) {
    line(fmt::format("  {}  {:<{}}  {} bytes, {} words, {} shingles", side == &e.a ? 'A' : 'B',
                     side == &e.a ? first : second, width, with_commas(side->bytes), with_commas(side->words),
                     with_commas(side->shingles)));
  }
  if (e.comparable) {
    line("");
    for (const Measure& m : measures(e)) {
      line(fmt::format("  {:<14}  {:<8}  {}", m.name, m.value, m.detail));
    }
    line(fmt::format("  {:<14}  {}  {} of {} equal", "bands", band_marks(e, style.utf8), e.bands_met(),
                     e.bands.size()));
  }
  if (shows_passages(e)) {
    line("");
    line("Passages that both have (the longest; words count from 0 on):");
    for (const auto& [side, text, passages] : {std::tuple('A', e.a.text, &e.passages->in_first),
                                               std::tuple('B', e.b.text, &e.passages->in_second)})
      for (const std::string& passage : passages_in_words(text, *passages))
        line(fmt::format("  {}  {}", side, passage));
  }
  line("");
  line(difference_in_words(diff));
  if (diff.removed + diff.added > 0) {
    line("");
    line(render_diff(diff_pieces(diff, style.context), style.colour));
  }
  return out;
}

std::string explain_json(const Explanation& e, const TextDiff& diff) {
  const PlainWords words = in_plain_words(e);
  JsonWriter json;
  json.boolean("duplicate", is_duplicate(e.finding));
  json.text("finding", finding_name(e.finding));
  json.text("headline", words.headline);
  json.open("reasons", '[');
  for (const std::string& sentence : words.sentences) json.text("", sentence);
  json.close();
  json.real("threshold", e.rule.threshold_ppm / 1e6);
  json_side(json, "a", e.a);
  json_side(json, "b", e.b);
  if (e.comparable) {
    json_overlap(json, "exact", e.exact);
    if (e.sets.has_value()) json_overlap(json, "sets", *e.sets);
    json_overlap(json, "slices", e.slices);
    json.text("decided_by", e.estimated ? "slices" : "sets");
    json.real("equal_slots", e.slots);
    json.number("equal_slices", e.equal_slices);
    json.number("min_equal_slices", e.rule.min_equal);
    json.number("num_perm", e.num_perm);
    json.open("bands", '[');
    for (bool equal : e.bands) json.boolean("", equal);
    json.close();
    json.number("rows", e.rule.banding.rows);
    json.real("chance_to_meet", e.meets());
  }
  if (e.passages.has_value()) json_passages(json, *e.passages);
  json.open("words", '{');
  json.number("equal", diff.equal);
  json.number("removed", diff.removed);
  json.number("added", diff.added);
  json.close();
  json.open("differences", '[');
  for (const DiffHunk& h : diff.hunks) {
    if (h.equal) continue;
    json.open("", '{');
    json.text("removed", text_of(diff.a, diff.a_words, h.a_begin, h.a_end));
    json.text("added", text_of(diff.b, diff.b_words, h.b_begin, h.b_end));
    json.close();
  }
  return json.finish();
}

}  // namespace doppel
