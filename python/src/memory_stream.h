#pragma once
// The two ends of the pipeline in memory: documents of a program, and columns of verdicts.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files_pass.h"
#include "formats/decoder.h"
#include "handed_rows.h"
#include "pipeline/pipeline.h"
#include "verdicts.h"

namespace doppel::python {

// The source of documents from a program in the metadata of originals and events. It is part of the tag by
// which an id is found.
inline constexpr std::string_view kSourceName = kProgramSource;

// The columns have the same length or are empty, and must outlive their readers.
struct Documents {
  std::span<const std::string_view> texts;
  std::span<const std::string_view> ids;  // empty: the id is the number, or the place in a file
  std::span<const int64_t> times_ms;      // empty: no document has one
  std::string_view source = kSourceName;  // or the file of the rows
  uint64_t first_number = 0;              // of the first document: in the index, or in its source
  bool rows = false;                      // `source` is a file
  const FilesPass* pass = nullptr;        // the pass of these rows, for the position
};

// Batches are small, so that they fit into caches and a signal is noticed soon.
inline constexpr size_t kBatchDocuments = 256;
inline constexpr uint64_t kBatchBytes = 8 << 20;

// Returns the text of a record as it is: there is nothing to decode.
class DocumentsDecoder final : public Decoder {
 public:
  explicit DocumentsDecoder(const Documents& documents) : documents_(documents) {}
  absl::Status decode(const Record& record, Document& out) override;

 private:
  const Documents& documents_;
};

// Records to judge. Their keys are the ids. Batch::memory keeps their bytes.
class DocumentsSource final : public Source {
 public:
  explicit DocumentsSource(const Documents& documents) : documents_(documents) {}
  absl::StatusOr<bool> next(Batch& batch) override;
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  const Documents& documents_;
  size_t at_ = 0;
};

// Records that ask to remove the originals of an id.
class RemovalsSource final : public Source {
 public:
  RemovalsSource(const std::vector<std::string_view>& ids, uint64_t first_number)
      : ids_(ids), first_number_(first_number) {}
  absl::StatusOr<bool> next(Batch& batch) override;
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  const std::vector<std::string_view>& ids_;
  uint64_t first_number_;
  size_t at_ = 0;
};

// Appends the verdicts to columns. Does not change the outputs of another run.
class ColumnsSink final : public Sink {
 public:
  // Originals from Originals::first_own() on are numbered from 0; those below get numbers from 2^59 on.
  ColumnsSink(std::string position, const Engine& engine, Verdicts& verdicts)
      : position_(std::move(position)), first_own_(engine.originals().first_own()), verdicts_(verdicts) {
    verdicts.with_relations = engine.options().rule.relations.on();
  }
  // Also stores the rows in `handed`; they belong to the open file of `pass`.
  void keep_in(HandedRows& handed, const FilesPass& pass) {
    handed_ = &handed;
    pass_ = &pass;
  }
  absl::Status write(const Decided& decided) override;
  std::string position() const override { return position_; }
  uint64_t removed() const { return removed_; }  // originals, for any reason

 private:
  const std::string position_;
  const Seq first_own_;
  Verdicts& verdicts_;
  HandedRows* handed_ = nullptr;
  const FilesPass* pass_ = nullptr;
  uint64_t removed_ = 0;
};

}  // namespace doppel::python
