#include "engine/bodies.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/status.h"
#include "sketch/prints.h"

namespace doppel {

static_assert(kPrintBits <= 8 * kStoredPrintBytes);

void append_prints(std::span<uint64_t> prints, std::string& coded_set) {
  if (coded_set.empty()) return;
  std::sort(prints.begin(), prints.end());
  const size_t start = coded_set.size();
  coded_set.resize(start + prints.size() * kStoredPrintBytes + sizeof(uint32_t));
  char* out = coded_set.data() + start;
  for (const uint64_t print : prints) {
    store(out, static_cast<uint32_t>(print));
    store(out + sizeof(uint32_t), static_cast<uint16_t>(print >> 32));
    out += kStoredPrintBytes;
  }
  store(out, static_cast<uint32_t>(prints.size()));
}

absl::StatusOr<std::string_view> split_stored_set(std::string_view stored, bool with_prints,
                                                  PodVector<uint64_t>* prints) {
  if (prints != nullptr) prints->clear();
  if (!with_prints || stored.empty()) return stored;
  const auto damaged = [] { return absl::DataLossError("an original's set lacks its prints"); };
  if (stored.size() < sizeof(uint32_t)) return damaged();
  const auto count = load<uint32_t>(stored.data() + stored.size() - sizeof(uint32_t));
  const uint64_t bytes = uint64_t{count} * kStoredPrintBytes + sizeof(uint32_t);
  if (bytes > stored.size()) return damaged();
  const std::string_view set = stored.substr(0, stored.size() - bytes);
  if (prints == nullptr) return set;
  ByteReader in(stored.substr(set.size()));
  uint64_t before = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t low = in.fixed<uint32_t>();
    const uint64_t print = low | uint64_t{in.fixed<uint16_t>()} << 32;
    if (print >> kPrintBits != 0 || low == 0 || (i != 0 && print <= before)) return damaged();
    prints->push_back(print);
    before = print;
  }
  return set;
}

absl::Status read_prints(const Bodies& bodies, BodyRef ref, std::string& buffer,
                         PodVector<uint64_t>& prints) {
  ASSIGN_OR_RETURN(const Body body, bodies.read(ref, buffer));
  return split_stored_set(body.coded_set, true, &prints).status();
}

// Stores bodies in blocks that never move. A block is as large as the largest possible body, so that no body
// spans two blocks. Only the written pages of a block use memory.

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
