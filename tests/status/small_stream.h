#pragma once
// An engine with small originals, and the loop of a pipeline that forgets some of them.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/sign_record.h"
#include "status/forgetting.h"

namespace doppel::testing {

// Bodies in memory that record which thread reads them, and can block the others.
class WatchedBodies final : public Bodies {
 public:
  absl::StatusOr<BodyRef> append(const Body& body) override { return memory_->append(body); }
  absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const override {
    ++(std::this_thread::get_id() == owner_ ? reads_here_ : reads_elsewhere_);
    if (std::this_thread::get_id() != owner_) const std::lock_guard wait(gate);
    return memory_->read(ref, buffer);
  }
  absl::Status flush() override { return absl::OkStatus(); }
  uint64_t bytes() const override { return memory_->bytes(); }
  uint64_t reads() const override { return reads_here_ + reads_elsewhere_; }
  uint64_t reads_here() const { return reads_here_; }
  uint64_t reads_elsewhere() const { return reads_elsewhere_; }

  mutable std::mutex gate;  // while the test holds it, other threads wait

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  mutable std::atomic<uint64_t> reads_here_ = 0, reads_elsewhere_ = 0;
  std::unique_ptr<Bodies> memory_ = memory_bodies();
};

struct SmallStream {
  SmallStream() : engine(options(), bodies) { format.tag_fields = {"crawl"}; }

  // Inserts originals "d0", "d1", ... with one word each.
  void insert(int count, const std::string& crawl) {
    std::vector<std::string> lines;
    for (int i = 0; i < count; ++i, ++inserted) {
      const std::string id = "d" + std::to_string(inserted);
      lines.push_back(R"({"id":")" + id + R"(","crawl":")" + crawl + R"(","text":")" + id + "\"}");
      lines.back().reserve(lines.back().size() + kRecordPadding);
    }
    Work work;
    work.resize(lines.size(), engine.options());
    RecordSigner signer(engine.options().scheme, engine.options().with_sets(), format, {});
    for (size_t i = 0; i < lines.size(); ++i)
      signer.sign({.value = lines[i], .source = "small", .offset = inserted - count + i},
                  work.sign.documents[i], work.sign.slices.data() + i * 128);
    MatchCounters counters;
    ASSERT_TRUE(engine.match(work, 0, lines.size(), counters).ok());
    ASSERT_TRUE(engine.resolve(work).ok());
    ASSERT_EQ(work.resolved.rows.size(), lines.size());
  }

  // One turn of the pipeline's loop while no document comes. Returns false if nothing was removed.
  bool turn(Forgetting& forgetting) {
    Work work;
    work.resize(0, engine.options());
    if (!forgetting.fill(work)) {
      std::this_thread::yield();
      return false;
    }
    EXPECT_TRUE(engine.resolve(work).ok());
    pieces.push_back(work.resolved.removed.size());
    for (const Removed& one : work.resolved.removed) {
      EXPECT_EQ(one.reason, RemovalReason::forgotten);
      removed.push_back(one.seq);
    }
    forgetting.settled();
    return true;
  }

  static EngineOptions options() {
    EngineOptions o;
    o.rule = make_rule(0.8, 0.995, 128).value();
    return o;
  }

  WatchedBodies bodies;
  Engine engine;
  KeptOriginals kept{engine.originals()};
  FormatOptions format;
  uint64_t inserted = 0;
  std::vector<Seq> removed;    // in order
  std::vector<size_t> pieces;  // number of removals in each batch
};

}  // namespace doppel::testing
