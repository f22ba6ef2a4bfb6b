#pragma once
// A pass over files whose rows a program reads and gives to an index. It knows which rows were given before.
// Its position has the form of `doppel scan`, so each can continue the other's run.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/position.h"
#include "files/read/listing.h"
#include "formats/decoder.h"
#include "session/same_document.h"

namespace doppel::python {

class FilesPass {
 public:
  // `position` is the last commit's. Originals from `first` on are new in this pass; originals before
  // `first_own` belong to indexes that are only read.
  static absl::StatusOr<std::unique_ptr<FilesPass>> begin(const std::vector<std::string>& paths,
                                                          std::string_view position,
                                                          const FormatOptions& format, Seq first,
                                                          Seq first_own);
  size_t files() const { return listing_.files.size(); }
  // The first row of a file that was not given before; negative: all were.
  int64_t first_row(size_t file) const;
  // The mark of a file that an earlier pass began and did not finish; nullptr otherwise.
  const LineMark* unfinished(size_t file) const;
  // Files that an earlier pass left unfinished and that are gone.
  const std::vector<Problem>& problems() const { return problems_; }

  // Begins to take rows from this file, which must have rows that were not given.
  absl::Status open(size_t file);
  const LineMark& mark() const { return mark_; }
  const std::string& path() const { return mark_.path; }
  // The position behind `rows` rows of the open file.
  std::string position(uint64_t rows) const;
  // The open file is finished.
  void end();
  std::string position() const { return writer_.encode(nullptr); }

  SameDocuments& same_documents() { return same_documents_; }
  Seq first() const { return first_; }

 private:
  FilesPass(Seq first, Seq first_own) : first_(first), same_documents_(first, first_own) {}

  Listing listing_;
  PositionWriter writer_;
  Resume resume_;
  std::vector<Problem> problems_;
  LineMark mark_;  // of the open file
  uint64_t size_ = 0;
  const Seq first_;
  SameDocuments same_documents_;
};

}  // namespace doppel::python
