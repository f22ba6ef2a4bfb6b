#pragma once
// Memory that batches own together with the source: taken, filled, handed out, and reused as soon as
// the last batch lets go of it. A fresh megabyte costs more to page in than to read.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "pipeline/stream.h"

namespace doppel {

struct Buffer {
  explicit Buffer(size_t size) : bytes(new char[size + kRecordPadding]), capacity(size) {}
  std::unique_ptr<char[]> bytes;  // kRecordPadding more than capacity
  size_t capacity;
};

// Buffers may come back from any thread, also after the pool is gone.
class BufferPool {
 public:
  explicit BufferPool(size_t usual_size);
  std::shared_ptr<Buffer> get(size_t at_least);

 private:
  struct Free;
  size_t usual_size_;
  std::shared_ptr<Free> free_;
};

// The buffer that is being filled. Appending is allowed until a batch with a view into the buffer has been
// returned; from then on other threads may read it, so more bytes go into a new one.
class Filling {
 public:
  explicit Filling(size_t usual_size) : pool_(usual_size), usual_(usual_size) {}

  char* data() const { return buffer_ ? buffer_->bytes.get() : nullptr; }
  size_t end() const { return end_; }
  void appended(size_t n) { end_ += n; }
  size_t room() const { return buffer_ && !sealed_ ? buffer_->capacity - end_ : 0; }
  size_t usual() const { return usual_; }

  // Room for at least `room` more bytes; what is from `begin` on stays (moved to a new buffer, perhaps). The
  // new `begin`.
  size_t make_room(size_t begin, size_t room);

  // The batch keeps a view into the buffer.
  void used_by(Batch& batch) {
    if (listed_) return;
    batch.memory.push_back(buffer_);
    listed_ = true;
  }
  // The batch is about to be returned.
  void seal() {
    sealed_ = sealed_ || listed_;
    listed_ = false;
  }
  std::shared_ptr<Buffer> buffer() const { return buffer_; }

 private:
  BufferPool pool_;
  size_t usual_;
  std::shared_ptr<Buffer> buffer_;
  size_t end_ = 0;
  bool listed_ = false;
  bool sealed_ = false;
};

}  // namespace doppel
