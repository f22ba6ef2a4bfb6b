#pragma once
// Reads a file of signed records (engine/signed_record.h). The value of each Record is one signed record.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/signed_record.h"
#include "files/read/line_reader.h"

namespace doppel {

class SignedReader final : public BufferedReader {
 public:
  // Reads `file` from `mark` on (its `tail` is 1 behind an end marker); the file descriptor is at the start
  // of the file. All references must outlive the reader. A file of another data scheme, a damaged file, and
  // one without its end marker is a Problem that says where; the records before it have been handed out.
  // The reader does not parse the records.
  SignedReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
               ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;

 private:
  enum class Step { taken, full, short_of_bytes };
  Step step(Batch& batch);
  Step header(Batch& batch);
  State end(Batch& batch);
  void forward(size_t bytes);
  void damage(Batch& batch, const std::string& cause);
  void refill(Batch& batch);

  size_t wanted_ = 1;  // open bytes that the next step needs
};

// The header of the first file that has one, among these files and directories. Returns nullopt if there
// are no signed records, or only pipes, which cannot be read twice. It is an error if a path does not exist
// or there is nothing to read.
absl::StatusOr<std::optional<SignedFileHeader>> first_signed_header(const std::vector<std::string>& paths);

}  // namespace doppel
