#pragma once
// Memory that batches share with the source. A buffer is reused as soon as the last batch lets go of it,
// because paging in a new megabyte costs more than reading into it.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "pipeline/stream.h"

namespace doppel {

struct Buffer {
  explicit Buffer(size_t size) : bytes(new char[size + kRecordPadding]), capacity(size) {}
  std::unique_ptr<char[]> bytes;  // kRecordPadding bytes more than `capacity`
  size_t capacity;
};

// Buffers can be returned by any thread, even after the pool is destroyed.
class BufferPool {
 public:
  explicit BufferPool(size_t usual_size);
  std::shared_ptr<Buffer> get(size_t at_least);

 private:
  struct Free;
  size_t usual_size_;
  std::shared_ptr<Free> free_;
};

// The buffer that is being filled. Bytes can be appended until a batch with a view into the buffer is
// returned. After that other threads may read it, and more bytes go into a new buffer.
class Filling {
 public:
  explicit Filling(size_t usual_size) : pool_(usual_size), usual_(usual_size) {}

  char* data() const { return buffer_ ? buffer_->bytes.get() : nullptr; }
  size_t end() const { return end_; }
  void appended(size_t n) { end_ += n; }
  size_t room() const { return buffer_ && !sealed_ ? buffer_->capacity - end_ : 0; }
  size_t usual() const { return usual_; }

  // Makes room for at least `room` more bytes, keeping those from `begin` on, which may move to a new
  // buffer. Returns the new `begin`.
  size_t make_room(size_t begin, size_t room);

  // Notes that the batch has a view into the buffer.
  void used_by(Batch& batch) {
    if (listed_) return;
    batch.memory.push_back(buffer_);
    listed_ = true;
  }
  // Call it before the batch is returned.
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
