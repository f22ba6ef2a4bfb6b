#include "engine/answer.h"

namespace doppel {

void Answer::clear() {
  same_payload.reset();
  exact.reset();
  candidates.clear();
  candidates_more = 0;
  counts.clear();
  same_id.clear();
  relatives_left_out = false;
  print_counts.clear();
  relatives.clear();
  described_.clear();
  metadata_.clear();
}

void Answer::describe(Seq seq, std::string_view metadata) {
  if (about(seq).has_value()) return;
  described_.push_back({seq, metadata_.size(), metadata.size()});
  metadata_.append(metadata);
}

std::optional<std::string_view> Answer::about(Seq seq) const {
  for (const Described& d : described_)
    if (d.seq == seq) return std::string_view(metadata_).substr(d.begin, d.size);
  return std::nullopt;
}

}  // namespace doppel
