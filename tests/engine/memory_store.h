#pragma once
// Segments in memory.

#include <map>
#include <mutex>
#include <string>

#include "engine/old_originals.h"
#include "index/memory_segments.h"

namespace doppel::testing {

class MemoryStore final : public SegmentStore {
 public:
  std::vector<SegmentName> list() const override {
    const std::lock_guard lock(mutex_);
    std::vector<SegmentName> out;
    for (const auto& [name, file] : files_) out.push_back({name.first, name.second});
    return out;
  }
  absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> create(const SegmentName& name) override {
    return std::make_unique<Writing>(*this, name);
  }
  absl::StatusOr<std::unique_ptr<SegmentSource>> open(const SegmentName& name) override {
    const std::lock_guard lock(mutex_);
    return std::make_unique<index_test::MemorySource>(files_.at({name.first, name.end}));
  }
  void remove(const SegmentName& name) override {
    const std::lock_guard lock(mutex_);
    files_.erase({name.first, name.end});
  }
  const PageReader& reader() const override { return reader_; }

  size_t made() const { return made_; }
  uint64_t longest() const { return longest_; }  // rows of the largest segment

 private:
  class Writing final : public SegmentBeingWritten {
   public:
    Writing(MemoryStore& store, const SegmentName& name) : store_(store), name_(name) {}
    absl::Status write_at(uint64_t offset, std::string_view bytes) override {
      return sink_.write_at(offset, bytes);
    }
    absl::Status finish() override {
      const std::lock_guard lock(store_.mutex_);
      store_.files_[{name_.first, name_.end}] = sink_.take();
      ++store_.made_;
      store_.longest_ = std::max(store_.longest_, name_.end - name_.first);
      return absl::OkStatus();
    }

   private:
    MemoryStore& store_;
    const SegmentName name_;
    index_test::MemorySink sink_;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<Seq, Seq>, std::string> files_;
  PageReader reader_;
  size_t made_ = 0;
  uint64_t longest_ = 0;
};

}  // namespace doppel::testing
