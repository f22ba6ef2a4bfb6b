#pragma once
// The file "bodies": a header (file_header.h), then the bodies back to back. Each row has the offset and
// size of its body.
//
//    0  u32 CRC32C of the rest of the body, seeded with the CRC32C of its offset (u64)
//    4  varint length of the metadata
//    .  metadata
//    .  coded set, up to the end of the body
//
// Appended bodies stay in memory until flush(), or until there are kBufferBytes of them. A reader first
// compares with `flushed_`. Bytes below it are in the file, and reading them needs no lock. Bytes above it
// are read from memory, under a lock that the writer takes only while it changes that memory.

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>

#include "absl/status/statusor.h"
#include "engine/bodies.h"
#include "state/file.h"
#include "state/file_header.h"

namespace doppel {

class BodiesFile final : public Bodies {
 public:
  static constexpr uint64_t kOffsetEnd = uint64_t{1} << 40;
  static constexpr size_t kBodyBytesEnd = size_t{1} << 24;
  static constexpr size_t kBufferBytes = 4 << 20;

  // Continues at `end` and overwrites what the file holds behind it.
  BodiesFile(File file, uint64_t end);

  absl::StatusOr<BodyRef> append(const Body& body) override;
  absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const override;
  absl::Status flush() override;
  uint64_t bytes() const override { return end_.load(std::memory_order_relaxed); }
  uint64_t reads() const override { return reads_.load(std::memory_order_relaxed); }

  const File& file() const { return file_; }
  // The CRC32C of the bytes that were flushed since the last call.
  uint32_t take_crc();
  // Frees the space below `offset`, which is not read any more. Best effort.
  void give_back_below(uint64_t offset) const { file_.punch(kFileHeaderBytes, offset); }

 private:
  const File file_;
  std::atomic<uint64_t> flushed_;    // the file holds all bytes below it
  std::atomic<uint64_t> end_;        // flushed_ + unflushed_.size()
  mutable std::shared_mutex mutex_;  // guards unflushed_
  std::string unflushed_;
  uint32_t crc_ = 0;
  mutable std::atomic<uint64_t> reads_ = 0;
};

}  // namespace doppel
