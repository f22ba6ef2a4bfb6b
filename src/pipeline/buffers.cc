#include "pipeline/buffers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace doppel {

namespace {
constexpr size_t kKept = 128;
}

struct BufferPool::Free {
  std::mutex mutex;
  std::vector<std::unique_ptr<Buffer>> buffers;
};

BufferPool::BufferPool(size_t usual_size) : usual_size_(usual_size), free_(std::make_shared<Free>()) {}

std::shared_ptr<Buffer> BufferPool::get(size_t at_least) {
  if (at_least > usual_size_) return std::make_shared<Buffer>(at_least);
  std::unique_ptr<Buffer> buffer;
  {
    std::lock_guard lock(free_->mutex);
    if (!free_->buffers.empty()) {
      buffer = std::move(free_->buffers.back());
      free_->buffers.pop_back();
    }
  }
  if (!buffer) {
    buffer = std::make_unique<Buffer>(usual_size_);
    // The padding behind the last record is readable even if nothing was written there.
    std::memset(buffer->bytes.get() + usual_size_, 0, kRecordPadding);
  }
  return {buffer.release(), [free = free_](Buffer* returned) {
            std::unique_ptr<Buffer> owned(returned);
            std::lock_guard lock(free->mutex);
            if (free->buffers.size() < kKept) free->buffers.push_back(std::move(owned));
          }};
}

size_t Filling::make_room(size_t begin, size_t room) {
  if (this->room() >= room) return begin;
  const size_t kept = end_ - begin;
  // A record that is longer than a buffer is copied a few times only, however long it becomes.
  std::shared_ptr<Buffer> next = pool_.get(kept + std::max(room, kept > usual_ ? kept / 2 : 0));
  if (kept > 0) std::memcpy(next->bytes.get(), data() + begin, kept);
  buffer_ = std::move(next);
  end_ = kept;
  listed_ = false;
  sealed_ = false;
  return 0;
}

}  // namespace doppel
