#pragma once
// Compresses bytes into gzip members or zstd frames. Each can be decompressed separately, so a file may be
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
  // Appends to `out` one member that holds `bytes`, or the rest of the member that begin() began.
  virtual absl::Status pack(std::string_view bytes, std::string& out) = 0;
  // Appends a part of a member; the next pack() ends the member.
  virtual absl::Status begin(std::string_view bytes, std::string& out) = 0;
};

// nullptr for Packing::none.
std::unique_ptr<Packer> make_packer(Packing packing);

}  // namespace doppel
