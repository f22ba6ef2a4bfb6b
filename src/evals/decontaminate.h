#pragma once
// Finds evaluation items in a corpus: searches each document once, and reports the items in it with their
// passages. Documents without items can be kept.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "evals/items.h"
#include "formats/decoder.h"
#include "pipeline/stream.h"

namespace doppel {

// Receives the documents, in their order.
class Decontaminated {
 public:
  virtual ~Decontaminated() = default;
  // A document, and a line of JSON (docs/decontamination.md) for each item in it; no line if it is clean.
  virtual absl::Status document(const Record& record, std::string_view lines) = 0;
  // A document that could not be read.
  virtual absl::Status rejected(const Record& record) = 0;
  // The documents so far are not valid after this call.
  virtual absl::Status batch_ends() { return absl::OkStatus(); }
};

struct DecontaminateCounters {
  uint64_t documents = 0, bytes = 0;
  uint64_t texts = 0;          // documents with a text
  uint64_t contaminated = 0;   // documents with an item
  uint64_t findings = 0;       // pairs of a document and an item in it
  uint64_t word_for_word = 0;  // findings without an edit
  uint64_t rejected = 0, problems = 0;
  std::vector<uint64_t> by_item;  // for each item, the number of documents with it
  uint64_t items_found() const;
  // Whether there was something to read, and nothing was looked through.
  bool read_nothing() const { return texts == 0 && documents + problems > 0; }
};

struct Decontaminate {
  Source& source;
  const Items& items;
  Decontaminated& to;
  FormatOptions format;
  int threads = 1;
  std::function<bool()> stop = [] { return false; };
  // Receives messages about records and inputs.
  std::function<void(const std::string&)> report = [](const std::string&) {};
  std::function<void(const DecontaminateCounters&)> progress = [](const DecontaminateCounters&) {};
};

// Returns when the source ends or stop() returns true.
absl::StatusOr<DecontaminateCounters> decontaminate(Decontaminate& run);

}  // namespace doppel
