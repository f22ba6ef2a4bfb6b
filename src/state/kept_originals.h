#pragma once
// The originals that a process stores, for searches: which are live, and where their bodies are. Use it
// only on the pipeline's thread, between batches.

#include <algorithm>
#include <optional>

#include "engine/originals.h"

namespace doppel {

class KeptOriginals {
 public:
  explicit KeptOriginals(const Originals& numbers) : numbers_(numbers) {}
  virtual ~KeptOriginals() = default;

  // Excludes the originals of indexes that are only read.
  Seq lowest_live() const { return std::max(numbers_.lowest_live(), numbers_.first_own()); }
  Seq next_seq() const { return numbers_.next_seq(); }
  // nullopt: it is not live, or not stored here.
  virtual std::optional<BodyRef> body(Seq seq) const {
    if (seq < numbers_.first_own() || !numbers_.live(seq)) return std::nullopt;
    return numbers_.body(seq).value_or(BodyRef());  // not readable: the reader of the body reports it
  }
  bool live(Seq seq) const { return body(seq).has_value(); }

 private:
  const Originals& numbers_;
};

}  // namespace doppel
