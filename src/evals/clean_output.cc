#include "evals/clean_output.h"

#include <utility>

#include "base/status.h"

namespace doppel {

absl::StatusOr<std::unique_ptr<CleanOutput>> CleanOutput::open(To to,
                                                               std::function<void(const std::string&)> say) {
  to.keep.output.clear();
  std::unique_ptr<CleanOutput> out(new CleanOutput(std::move(to)));
  ASSIGN_OR_RETURN(out->keep_, FilesSink::open(out->to_.keep, "", std::move(say)));
  return out;
}

absl::Status CleanOutput::document(const Record& record, std::string_view lines) {
  lines_ += lines;
  return keep_->keep(record, lines.empty());
}

absl::Status CleanOutput::rejected(const Record& record) { return keep_->keep(record, false); }

absl::Status CleanOutput::batch_ends() {
  const absl::Status status = lines_.empty() ? absl::OkStatus() : to_.lines(lines_);
  lines_.clear();
  RETURN_IF_ERROR(status);
  return keep_->flush();
}

absl::Status CleanOutput::finish() { return keep_->finish(); }

}  // namespace doppel
