#pragma once
// Finds the passages that two texts have in common: how much of each text is in the other, and where.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "sketch/compact_set.h"

namespace doppel {

struct Passage {
  WordRange words;
  ByteRange bytes;
};

struct CommonPassages {
  // The relation of the second text to the first one, if the first is the only original: with two texts, no
  // passage is known to be common.
  std::optional<Relation> relation;
  bool asked = false;                          // the settings ask for this relation
  uint64_t shared = 0, first = 0, second = 0;  // shingles
  std::vector<Passage> in_first, in_second;    // the longest, ascending
};

// The relations of the settings; if the settings name only `near`: all relations, with their defaults.
RelationRule relations_to_explain(const EngineOptions& options);

// A text, its shingles in order and its set.
struct PassageText {
  std::string_view text;
  std::span<const uint32_t> tops;
  const CompactSet& set;
};
CommonPassages common_passages(const EngineOptions& options, const PassageText& first,
                               const PassageText& second);

}  // namespace doppel
