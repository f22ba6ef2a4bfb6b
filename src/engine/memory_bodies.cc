// Stores bodies in blocks that never move. A block is as large as the largest possible body, so that no body
// spans two blocks. Only the written pages of a block use memory.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/status.h"
#include "engine/bodies.h"

namespace doppel {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{1} << 24;  // BodyRef::size < 2^24
constexpr uint64_t kOffsetEnd = uint64_t{1} << 40;   // BodyRef::offset < 2^40
constexpr size_t kHead = sizeof(uint32_t);           // length of the metadata

struct Free {
  void operator()(char* p) const { std::free(p); }
};

class MemoryBodies final : public Bodies {
 public:
  absl::StatusOr<BodyRef> append(const Body& body) override {
    const uint64_t size = kHead + body.metadata.size() + body.coded_set.size();
    if (size >= kBlockBytes) {
      return invalid("a body of " + std::to_string(size) + " bytes: at most " +
                     std::to_string(kBlockBytes - 1));
    }
    uint64_t offset = end_;
    if (offset / kBlockBytes != (offset + size - 1) / kBlockBytes || offset == blocks_.size() * kBlockBytes) {
      offset = blocks_.size() * kBlockBytes;
      std::unique_ptr<char, Free> block(static_cast<char*>(std::malloc(kBlockBytes)));
      if (block == nullptr || offset >= kOffsetEnd) {
        return absl::ResourceExhaustedError("no memory left for bodies");
      }
      const std::unique_lock lock(mutex_);
      blocks_.push_back(std::move(block));
    }
    DOPPEL_CHECK(offset >= end_ && offset + size <= blocks_.size() * kBlockBytes,
                 "a body is behind all others, in one block", offset, size, end_, blocks_.size());
    // No reader accesses this range before the caller has the reference.
    char* p = blocks_[offset / kBlockBytes].get() + offset % kBlockBytes;
    store(p, static_cast<uint32_t>(body.metadata.size()));
    if (!body.metadata.empty()) std::memcpy(p + kHead, body.metadata.data(), body.metadata.size());
    if (!body.coded_set.empty()) {
      std::memcpy(p + kHead + body.metadata.size(), body.coded_set.data(), body.coded_set.size());
    }
    end_ = offset + size;
    bytes_.fetch_add(size, std::memory_order_relaxed);
    return BodyRef{.offset = offset, .size = static_cast<uint32_t>(size)};
  }

  absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const override {
    if (ref.size == 0) return Body{};
    const char* p = nullptr;
    {
      const std::shared_lock lock(mutex_);
      if (ref.offset / kBlockBytes < blocks_.size()) p = blocks_[ref.offset / kBlockBytes].get();
    }
    if (p == nullptr || ref.size < kHead || ref.offset % kBlockBytes + ref.size > kBlockBytes) {
      return absl::DataLossError("no body at offset " + std::to_string(ref.offset));
    }
    buffer.assign(p + ref.offset % kBlockBytes, ref.size);
    const auto metadata = load<uint32_t>(buffer.data());
    const std::string_view rest = std::string_view(buffer).substr(kHead);
    if (metadata > rest.size()) {
      return absl::DataLossError("no body at offset " + std::to_string(ref.offset));
    }
    return Body{.metadata = rest.substr(0, metadata), .coded_set = rest.substr(metadata)};
  }

  absl::Status flush() override { return absl::OkStatus(); }
  uint64_t bytes() const override { return bytes_.load(std::memory_order_relaxed); }
  uint64_t reads() const override { return 0; }

 private:
  mutable std::shared_mutex mutex_;  // guards the vector, not the content of the blocks
  std::vector<std::unique_ptr<char, Free>> blocks_;
  uint64_t end_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace

std::unique_ptr<Bodies> memory_bodies() { return std::make_unique<MemoryBodies>(); }

}  // namespace doppel
