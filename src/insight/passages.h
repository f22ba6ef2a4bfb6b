#pragma once
// What two texts have in common, passage by passage: how much of each one is in the other, and where.

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
  // Of the second text to the first one, if that is the only original: nobody knows which passages many
  // others have.
  std::optional<Relation> relation;
  bool asked = false;                          // the settings ask for this relation
  uint64_t shared = 0, first = 0, second = 0;  // shingles
  std::vector<Passage> in_first, in_second;    // the longest, ascending
};

// The settings' relations; where they name `near` only: all of them, with their defaults.
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
