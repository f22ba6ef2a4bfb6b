#pragma once
// The pipeline's two ends in memory: documents that a program holds, and columns of what was decided.

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

// Where documents given by a program come from, as the metadata of originals and events name it. Part of the
// tag under which an id is found again.
inline constexpr std::string_view kSourceName = kProgramSource;

// Documents by position; the columns outlive their readers, and are equally long or empty.
struct Documents {
  std::span<const std::string_view> texts;
  std::span<const std::string_view> ids;  // empty: each is called by its number, or its place in a file
  std::span<const int64_t> times_ms;      // empty: none has one
  std::string_view source = kSourceName;  // or the file that they are rows of
  uint64_t first_number = 0;              // of the first document: in the life of the index, or in its source
  bool rows = false;                      // `source` is a file
  const FilesPass* pass = nullptr;        // whose open file it is: says the position
};

// Small batches, so that they fit into caches and a signal is soon heard.
inline constexpr size_t kBatchDocuments = 256;
inline constexpr uint64_t kBatchBytes = 8 << 20;

// Records of texts are the texts themselves: there is nothing to decode.
class DocumentsDecoder final : public Decoder {
 public:
  explicit DocumentsDecoder(const Documents& documents) : documents_(documents) {}
  absl::Status decode(const Record& record, Document& out) override;

 private:
  const Documents& documents_;
};

// Records to be judged. Their keys are the ids. What backs them lives in Batch::memory.
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

// Records that ask for the originals of an id to be forgotten.
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

// Appends what was decided to columns. The outputs of another run stay where they are.
class ColumnsSink final : public Sink {
 public:
  // `first_own`: originals are numbered from there on; those before have numbers of their own kind.
  ColumnsSink(std::string position, Seq first_own, Verdicts& verdicts)
      : position_(std::move(position)), first_own_(first_own), verdicts_(verdicts) {}
  // Of rows of the open file of `pass`, to be kept in `handed`.
  void keep_in(HandedRows& handed, const FilesPass& pass) {
    handed_ = &handed;
    pass_ = &pass;
  }
  absl::Status write(const Decided& decided) override;
  std::string position() const override { return position_; }
  uint64_t removed() const { return removed_; }  // originals, by whatever reason

 private:
  const std::string position_;
  const Seq first_own_;
  Verdicts& verdicts_;
  HandedRows* handed_ = nullptr;
  const FilesPass* pass_ = nullptr;
  uint64_t removed_ = 0;
};

}  // namespace doppel::python
