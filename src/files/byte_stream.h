#pragma once
// The bytes of a file from its start to its end, whatever it is packed in.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/fd.h"

namespace doppel {

enum class Packing { none, gz, zst };

// A range of a file that is read as a file of its own; of no size: all of the file.
struct Part {
  uint64_t begin = 0;
  uint64_t size = 0;
  bool is_all() const { return size == 0; }
};

// How a zstd file begins that has its dictionary with it (WARC files of some crawlers): a frame to be
// skipped.
inline constexpr std::string_view kZstDictionary = "\x5d\x2a\x4d\x18";

// By the end of the name; `name` loses that end.
Packing packing_of(std::string_view& name);

// Bytes taken from disks, by all streams of a source; read by any thread.
using ByteCounter = std::shared_ptr<std::atomic<uint64_t>>;

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Up to n (> 0) bytes; 0 at the end. An error says what is wrong with the data, not where; every byte
  // before the damage has been given by then.
  virtual absl::StatusOr<size_t> read(char* out, size_t n) = 0;
  // Where in the file, as it is stored, the bytes of the last read() begin, if that can be said: always in a
  // plain file; in a packed one at the beginning of a member (gz) or frame (zst), which a read never crosses.
  virtual std::optional<uint64_t> stored_at() const = 0;
  // After an error of read(): goes on at the next member (frame) that unpacks to something that `begins`
  // accepts the beginning of. How many bytes of the file are skipped, from the beginning of the damaged
  // member on; nothing: no other begins.
  using Begins = std::function<bool(std::string_view)>;
  virtual std::optional<uint64_t> resume(const Begins& /*begins*/) { return std::nullopt; }
  // Bytes of the file itself that were used so far.
  virtual uint64_t disk_bytes() const = 0;
};

// `head`: what was taken from `fd` already and comes first. Places are counted from the beginning of `part`.
std::unique_ptr<ByteStream> make_byte_stream(Fd fd, Packing packing, ByteCounter counter,
                                             std::string head = {}, Part part = {});

}  // namespace doppel
