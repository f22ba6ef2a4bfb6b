// Passes over files of rows.
#include "base/status.h"
#include "fmt/format.h"
#include "memory_index.h"

namespace doppel::python {

absl::StatusOr<PassBegun> MemoryIndex::begin_files(const std::vector<std::string>& paths, bool resume) {
  pass_is_kept_ = resume && session_->state() != nullptr;
  ASSIGN_OR_RETURN(pass_, FilesPass::begin(paths, pass_is_kept_ ? source_position_ : "", options_.input,
                                           engine_->originals().next_seq(), first_own()));
  PassBegun out{.pass = ++passes_};
  for (const Problem& problem : pass_->problems()) out.problems.push_back(problem.message);
  for (size_t file = 0; file < pass_->files(); ++file) {
    out.first_rows.push_back(pass_->first_row(file));
    const LineMark* unfinished = pass_is_kept_ ? pass_->unfinished(file) : nullptr;
    if (unfinished == nullptr || out.handed) continue;
    ASSIGN_OR_RETURN(out.handed, handed_->read(*unfinished));
    out.handed_file = file;
  }
  return out;
}

absl::Status MemoryIndex::check_pass(uint64_t pass) const {
  if (pass == passes_ && pass_ != nullptr) return absl::OkStatus();
  return invalid("another scan_parquet() over this index has begun; finish one before you begin the next");
}

absl::Status MemoryIndex::begin_file(uint64_t pass, size_t file) {
  RETURN_IF_ERROR(check_pass(pass));
  return pass_->open(file);
}

absl::Status MemoryIndex::add_rows(uint64_t pass, uint64_t first_row, const Given& given, const GoOn& go_on,
                                   Verdicts& out) {
  RETURN_IF_ERROR(check_pass(pass));
  const std::string path = pass_->path();
  const Documents documents{.texts = given.texts,
                            .ids = given.ids,
                            .times_ms = given.times_ms,
                            .source = path,
                            .first_number = first_row,
                            .rows = true,
                            .pass = pass_is_kept_ ? pass_.get() : nullptr};
  RETURN_IF_ERROR(check(given, documents, pass_->first()));
  ColumnsSink sink(sink_position_, *engine_, out);
  if (pass_is_kept_) {
    RETURN_IF_ERROR(handed_->forget());
    sink.keep_in(*handed_, *pass_);
  }
  const absl::Status status = judge(documents, pass_->same_documents(), sink, go_on);
  if (pass_is_kept_ && out.size() != 0) source_position_ = pass_->position(first_row + out.size());
  return status;
}

absl::Status MemoryIndex::end_file(uint64_t pass) {
  RETURN_IF_ERROR(check_pass(pass));
  if (pass_is_kept_) RETURN_IF_ERROR(handed_->forget());
  pass_->end();
  return absl::OkStatus();
}

absl::Status MemoryIndex::end_files(uint64_t pass) {
  RETURN_IF_ERROR(check_pass(pass));
  const std::unique_ptr<FilesPass> done = std::move(pass_);
  if (!pass_is_kept_) return absl::OkStatus();
  Batch batch;
  batch.position = done->position();
  Resolved nothing;
  nothing.lowest_live = engine_->originals().lowest_live();
  RETURN_IF_ERROR(journal_->commit(batch, nothing, sink_position_));
  source_position_ = batch.position;
  return absl::OkStatus();
}

}  // namespace doppel::python
