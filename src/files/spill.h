#pragma once
// An unnamed temporary file, which holds bytes until they are copied to their destination.

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
  // Creates the file in `directory`, which must have room for it.
  static absl::StatusOr<Spill> open(const std::string& directory);
  // Returns the offset of `bytes` in the file.
  absl::StatusOr<uint64_t> append(std::string_view bytes);
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  uint64_t end_ = 0;
};

// Copies the bytes from `begin` to `end` of `fd` to `out`. Errors name the file as `name`.
absl::Status copy_range(int fd, const std::string& name, uint64_t begin, uint64_t end, WholeOutput& out);

}  // namespace doppel
