#pragma once
// The columns of a Parquet file that rows of several files are copied to. They come from the first of these
// files that can be read.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "files/parquet/footer.h"

namespace doppel::parquet {

class KeptColumns {
 public:
  // Takes the columns of the first file, and compares the columns of the following files. It is an error if
  // they differ or cannot be copied; the message does not name `path`.
  absl::Status admit(const std::string& path, const Footer& footer);
  // Whether a file was admitted.
  bool known() const { return !first_path_.empty(); }
  // Of the first file, as its footer stores them.
  const std::vector<Leaf>& leaves() const { return leaves_; }
  const std::string& schema() const { return schema_; }
  const std::string& notes() const { return notes_; }

 private:
  std::string first_path_, schema_, notes_;
  std::vector<Leaf> leaves_;
};

// Checks that each value of a row group can be copied, by reading all pages of all columns. The error names
// the column.
absl::Status check_group(const std::vector<Leaf>& leaves, const RowGroup& group, int fd);

// A page that unpacks to more bytes is not copied.
inline constexpr uint64_t kMostPageBytes = 512 << 20;

}  // namespace doppel::parquet
