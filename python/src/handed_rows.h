#pragma once
// The rows of a file that the program has in its hands, with their verdicts. When it is killed before it asks
// for more, they are given to it again, with the verdicts that they had.
//
// The file "handed" of the state directory: blocks that are appended before the commit that counts their
// rows. A block (little endian):
//
//    0  u32 length of the payload
//    4  u32 CRC32C of the payload
//    8  payload:
//         varints device and inode of the file, u64 hash of its first 4 KiB (LineMark), varint first row,
//         varint number of rows, and the rows (put_rows() of verdicts.h)
//
// The blocks follow one another without a gap between rows. They count where one of them ends at the row at
// which the committed position is; what is behind it was not committed.

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "files/position.h"
#include "state/file.h"
#include "verdicts.h"

namespace doppel::python {

struct Handed {
  uint64_t first_row = 0;
  Verdicts verdicts;
};

class HandedRows {
 public:
  // `sync`: blocks survive a power loss too.
  static absl::StatusOr<std::unique_ptr<HandedRows>> open(const std::string& directory, bool sync);

  // The rows before mark.lines of the file, if they were in its hands there. Nothing: they were not.
  absl::StatusOr<std::optional<Handed>> read(const LineMark& mark) const;
  // The program asks for more: what it had is done with.
  absl::Status forget();
  // It will get these rows, too: the last ones of `verdicts`.
  absl::Status add(const LineMark& mark, uint64_t first_row, const Verdicts& verdicts, size_t rows);

 private:
  HandedRows(File file, bool sync) : file_(std::move(file)), sync_(sync) {}

  File file_;
  const bool sync_;
  uint64_t end_ = 0;
};

}  // namespace doppel::python
