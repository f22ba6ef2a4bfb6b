#include "insight/passages.h"

#include "engine/relatives.h"
#include "text/words.h"

namespace doppel {
namespace {

// Finds the passages of `text` that are in `other`; `found` gets how much that is.
std::vector<Passage> passages_in(const RelationRule& rule, Normalisation normalisation,
                                 const PassageText& text, const CompactSet& other, TextMap& map,
                                 Relative& found) {
  map.start(rule, text.tops, {}, text.set);
  map.compare(other, found);
  std::vector<Passage> out;
  if (found.runs.empty()) return out;
  const std::vector<WordPlace> places = word_places(text.text, normalisation);
  for (const ShingleRun& run : found.runs) {
    const uint32_t end = run.end + rule.shingle_words - 1;
    out.push_back({.words = {run.begin, end}, .bytes = {places[run.begin].begin, places[end - 1].end}});
  }
  return out;
}

}  // namespace

RelationRule relations_to_explain(const EngineOptions& options) {
  RelationRule out = options.rule.relations;
  if (!out.on()) {
    constexpr uint32_t kPassage = 150;
    out = {.passage = kPassage, .shingle_words = static_cast<uint32_t>(options.scheme.shingle_words)};
  }
  out.contained = out.contains = out.shares = true;
  return out;
}

CommonPassages common_passages(const EngineOptions& options, const PassageText& first,
                               const PassageText& second) {
  const RelationRule rule = relations_to_explain(options);
  CommonPassages out;
  TextMap map;
  Relative found;
  out.in_first = passages_in(rule, options.scheme.normalisation, first, second.set, map, found);
  out.in_second = passages_in(rule, options.scheme.normalisation, second, first.set, map, found);
  out.first = first.set.values.size();
  out.second = second.set.values.size();
  out.shared = overlap(first.set, second.set).inter;
  const Common common{.cells = {0}, .ranges = {}};
  if (const std::optional<Related> related = relate(rule, map, common, found)) {
    out.relation = related->relation;
    out.asked = options.rule.relations.on() && options.rule.relations.knows(related->relation);
  }
  return out;
}

}  // namespace doppel
