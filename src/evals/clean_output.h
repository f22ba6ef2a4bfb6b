#pragma once
// The output of decontamination: a line for each finding, and the documents without items.

#include <functional>
#include <memory>
#include <string>

#include "evals/decontaminate.h"
#include "files/write/files_sink.h"

namespace doppel {

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
  // Documents without items that could not be kept (WARC records).
  uint64_t not_kept() const { return keep_->keeper().not_kept(); }

 private:
  explicit CleanOutput(To to) : to_(std::move(to)) {}

  To to_;
  std::unique_ptr<FilesSink> keep_;
  std::string lines_;
};

}  // namespace doppel
