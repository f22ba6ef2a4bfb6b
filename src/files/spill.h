#pragma once
// Bytes that wait in a file without a name until they are copied to where they belong.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/fd.h"
#include "files/whole_output.h"

namespace doppel {

class Spill {
 public:
  // In `directory`, which has room for them.
  static absl::StatusOr<Spill> open(const std::string& directory);
  // Where they begin.
  absl::StatusOr<uint64_t> append(std::string_view bytes);
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  uint64_t end_ = 0;
};

// The bytes from `begin` to `end` of the open file, which `name` names in errors.
absl::Status copy_range(int fd, const std::string& name, uint64_t begin, uint64_t end, WholeOutput& out);

}  // namespace doppel
