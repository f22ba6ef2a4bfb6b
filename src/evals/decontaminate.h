#pragma once
// Evaluation items in a corpus: every document is looked through once, and what is found is written down,
// with the passage. What is not found can be kept.

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

// What is done with the documents, in their order.
class Decontaminated {
 public:
  virtual ~Decontaminated() = default;
  // A document, and the lines (JSON, docs/decontamination.md) of the items that are in it: none if it is
  // clean.
  virtual absl::Status document(const Record& record, std::string_view lines) = 0;
  // A document that could not be read.
  virtual absl::Status rejected(const Record& record) = 0;
  // The documents before may go away.
  virtual absl::Status batch_ends() { return absl::OkStatus(); }
};

struct DecontaminateCounters {
  uint64_t documents = 0, bytes = 0;
  uint64_t contaminated = 0;   // documents
  uint64_t findings = 0;       // of an item in a document
  uint64_t word_for_word = 0;  // of them
  uint64_t rejected = 0, problems = 0;
  std::vector<uint64_t> by_item;  // documents in which it is
  uint64_t items_found() const;
};

struct Decontaminate {
  Source& source;
  const Items& items;
  Decontaminated& to;
  FormatOptions format;
  int threads = 1;
  std::function<bool()> stop = [] { return false; };
  std::function<void(const std::string&)> report = [](const std::string&) {};  // of records and inputs
  std::function<void(const DecontaminateCounters&)> progress = [](const DecontaminateCounters&) {};
};

// Returns when the source ends or stop() says so.
absl::StatusOr<DecontaminateCounters> decontaminate(Decontaminate& run);

}  // namespace doppel
