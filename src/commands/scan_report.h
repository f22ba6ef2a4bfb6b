#pragma once
// What `doppel scan --html` shows, gathered while the documents are judged. It takes 16 bytes for each
// original that has copies; names are kept of a bounded number of originals, folders and hosts. Texts are
// read at the end, a second time, of the few documents that the page shows.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "engine/engine.h"
#include "formats/decoder.h"
#include "insight/scan_page.h"
#include "pipeline/pipeline.h"
#include "records/metadata.h"

namespace doppel {

// How many bytes of its input a record takes. A large file is not in memory, but it has a size.
uint64_t bytes_of(const Record& record);

// Documents and copies by the name of a place. Counts at most kPlacesCounted places; if there are more, the
// smaller ones are given up.
class Places {
 public:
  void add(std::string_view name, uint64_t documents, uint64_t copies, uint64_t bytes);
  // The first `most` by bytes in copies, then by documents.
  PagePlaces top(size_t most) const;

 private:
  void give_up_half();
  absl::flat_hash_map<std::string, PagePlace> places_;
  bool complete_ = true;
};

class ScanReport {
 public:
  // Originals below `first` are those of earlier runs.
  explicit ScanReport(Seq first) : first_(first) {}

  // Adds a batch, while its records exist.
  absl::Status add(const Decided& decided);
  // Makes the page without texts; call it once, at the end. `counters`: of the whole run.
  ScanPage page(const Counters& counters) const;

 private:
  struct Count {
    uint32_t copies = 0, exact = 0;
    uint64_t bytes = 0;
  };
  struct Named {
    std::string original, event_id;
    std::vector<PageCopy> first;
  };
  absl::Status add_copy(const Decided& decided, size_t i, const Metadata& document, uint64_t bytes);
  absl::Status add_related(const Outcome& outcome, const Metadata& document);
  void forget_small();
  // Whether the first group is shown before the second one.
  bool before(Seq a, Seq b) const;

  const Seq first_;
  absl::flat_hash_map<Seq, Count> counts_;  // originals with copies
  absl::flat_hash_map<Seq, Named> named_;   // those with the most copies, at least
  Places folders_, hosts_;
  std::vector<PageRelated> related_;
  uint64_t bytes_ = 0, copied_bytes_ = 0;
};

// Reads the input once more and sets the texts of the documents that the page shows. A document that is no
// longer there gets none.
absl::Status read_texts(Source& source, const FormatOptions& format, ScanPage& page);

}  // namespace doppel
