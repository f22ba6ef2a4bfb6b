#pragma once
// The rows of a file that the program is processing, with their verdicts. If it is killed before it asks
// for more, it gets them again with the same verdicts.
//
// The file "handed" of the state directory holds blocks, each written before the commit that counts its
// rows. A block (little endian):
//
//    0  u32 length of the payload
//    4  u32 CRC32C of the payload
//    8  payload:
//         varints device and inode of the file, u64 hash of its first 4 KiB (LineMark), varint first row,
//         varint number of rows, and the rows (put_rows() of verdicts.h)
//
// The blocks are contiguous, without missing rows. They count if one of them ends at the row of the
// committed position; blocks behind it were not committed.

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
  // `sync`: blocks survive a power loss, too.
  static absl::StatusOr<std::unique_ptr<HandedRows>> open(const std::string& directory, bool sync);

  // The rows before mark.lines that the program was processing; nullopt if there are none.
  absl::StatusOr<std::optional<Handed>> read(const LineMark& mark) const;
  // The program asks for more, so it has finished its rows.
  absl::Status forget();
  // Adds the last `rows` of `verdicts`, which the program will get, too.
  absl::Status add(const LineMark& mark, uint64_t first_row, const Verdicts& verdicts, size_t rows);

 private:
  HandedRows(File file, bool sync) : file_(std::move(file)), sync_(sync) {}

  File file_;
  const bool sync_;
  uint64_t end_ = 0;
};

}  // namespace doppel::python
