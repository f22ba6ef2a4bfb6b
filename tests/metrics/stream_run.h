#pragma once
// Passes a made-up stream through a real pipeline in memory: copies, copies of copies, broken records, null
// values, empty texts, records of several partitions. A pure function of the seed.

#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "pipeline/pipeline.h"

namespace doppel::testing {

struct MadeRecord {
  std::string value;
  bool null_value = false;
  int32_t partition = 0;
  uint64_t offset = 0;
  int64_t timestamp_ms = -1;
};

inline std::vector<MadeRecord> make_records(uint64_t seed, size_t count, int64_t now_ms) {
  std::mt19937_64 random(seed);
  const auto any = [&](uint64_t below) { return random() % below; };
  std::vector<std::vector<std::string>> texts;
  std::vector<MadeRecord> out;
  std::vector<uint64_t> offsets(3);
  for (size_t i = 0; i < count; ++i) {
    MadeRecord& r = out.emplace_back();
    r.partition = static_cast<int32_t>(any(3));
    r.offset = offsets[static_cast<size_t>(r.partition)]++;
    r.timestamp_ms = any(20) == 0 ? -1 : now_ms - static_cast<int64_t>(any(any(2) == 0 ? 100 : 1'000'000));
    const uint64_t what = any(40);
    if (what == 0) {
      r.null_value = true;
      continue;
    }
    if (what == 1) {
      r.value = "{no json";
      continue;
    }
    if (what == 2) {
      r.value = R"({"title":"nothing else"})";
      continue;
    }
    std::vector<std::string> words;
    if (what > 20 && !texts.empty()) {
      words = texts[any(texts.size())];
      for (uint64_t edits = any(6); edits > 0 && !words.empty(); --edits)
        words[any(words.size())] = "edit" + std::to_string(any(1000));
    } else if (what > 3) {
      const uint64_t own = random();
      for (uint64_t n = 3 + any(80); n > 0; --n)
        words.push_back("w" + std::to_string(any(50)) + "x" + std::to_string(own % 100'000));
    }
    if (any(3) != 0) texts.push_back(words);
    r.value = R"({"text":")";
    for (const std::string& word : words) r.value += word + " ";
    r.value += "\"}";
  }
  return out;
}

class MadeSource final : public Source {
 public:
  MadeSource(const std::vector<MadeRecord>& records, size_t per_batch)
      : records_(records), per_batch_(per_batch) {}

  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    const size_t end = std::min(records_.size(), at_ + per_batch_);
    auto padded = std::make_shared<std::vector<std::string>>();
    for (size_t i = at_; i < end; ++i) {
      padded->push_back(records_[i].value);
      padded->back().append(kRecordPadding, '\0');
    }
    for (int32_t partition = 0; partition < 3; ++partition) {
      for (size_t i = at_; i < end; ++i) {
        const MadeRecord& r = records_[i];
        if (r.partition != partition) continue;
        Record& record = batch.records.emplace_back();
        record.value = std::string_view((*padded)[i - at_]).substr(0, r.value.size());
        record.null_value = r.null_value;
        record.source = topic_;
        record.partition = r.partition;
        record.offset = r.offset;
        record.timestamp_ms = r.timestamp_ms;
        batch.bytes += r.value.size();
      }
    }
    batch.memory.push_back(padded);
    at_ = end;
    return !batch.records.empty();
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  const std::vector<MadeRecord>& records_;
  size_t per_batch_, at_ = 0;
  std::string topic_ = "documents";
};

struct NoSink final : Sink {
  absl::Status write(const Decided&) override { return absl::OkStatus(); }
  std::string position() const override { return {}; }
};

}  // namespace doppel::testing
