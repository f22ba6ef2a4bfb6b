#pragma once
// Finds evaluation items in a corpus: searches each document once, and reports the items in it with their
// passages. Documents without items can be kept.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "evals/item_index.h"
#include "files/write/files_sink.h"
#include "formats/decoder.h"
#include "formats/document.h"
#include "formats/record.h"
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

// Findings as JSON lines: docs/decontamination.md describes every member.

// Appends a line for each match.
void append_findings(std::string& out, const Record& record, const Document& document, const Items& items,
                     std::span<const ItemMatch> matches);

// The output of decontamination: a line for each finding, and the documents without items.
class CleanOutput final : public Decontaminated {
 public:
  struct To {
    // Receives the lines of a batch, which are valid during the call.
    std::function<absl::Status(std::string_view lines)> lines;
    // A file (Parquet if its name ends in .parquet), or a directory with a file for each input; if all are
    // empty, nothing is kept.
    FilesSinkOptions keep;
  };
  // `say` receives a message about documents that cannot be kept.
  static absl::StatusOr<std::unique_ptr<CleanOutput>> open(To to,
                                                           std::function<void(const std::string&)> say);

  absl::Status document(const Record& record, std::string_view lines) override;
  absl::Status rejected(const Record& record) override;
  absl::Status batch_ends() override;
  absl::Status finish();
  // What was kept, and what could not be.
  const Keeper& keeper() const { return keep_->keeper(); }

 private:
  explicit CleanOutput(To to) : to_(std::move(to)) {}

  To to_;
  std::unique_ptr<FilesSink> keep_;
  std::string lines_;
};

}  // namespace doppel
