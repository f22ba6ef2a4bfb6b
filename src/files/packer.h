#pragma once
// Bytes as members of a gzip file, or frames of a zstd one: each can be unpacked by itself, and a file may be
// cut between two of them.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "files/byte_stream.h"

namespace doppel {

class Packer {
 public:
  virtual ~Packer() = default;
  // One member that holds `bytes`, at the end of `out`; or the end of the one that begin() began.
  virtual absl::Status pack(std::string_view bytes, std::string& out) = 0;
  // More of a member that the next pack() ends.
  virtual absl::Status begin(std::string_view bytes, std::string& out) = 0;
};

// nullptr for Packing::none.
std::unique_ptr<Packer> make_packer(Packing packing);

}  // namespace doppel
