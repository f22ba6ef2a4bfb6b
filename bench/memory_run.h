#pragma once
// What the benchmarks of the whole data path share: a Source of lines in memory, a Sink that only
// remembers, and clocks.

#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "oracle/corpus.h"
#include "pipeline/pipeline.h"

namespace doppel {

inline constexpr size_t kBatch = 1024;  // documents

inline double wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline double cpu() {  // of all threads
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The documents' lines one after the other, as a file would hold them.
struct Lines {
  std::string bytes;
  std::vector<std::pair<size_t, size_t>> places;

  void add(const std::string& json) {
    places.push_back({bytes.size(), json.size()});
    bytes += json + '\n';
  }
  void finish() { bytes.append(128, '\0'); }  // decoders read a little beyond a record
};

// Documents [begin, end) of a corpus.
inline Lines corpus_lines(const oracle::CorpusOptions& corpus, uint64_t begin, uint64_t end) {
  Lines lines;
  for (uint64_t i = begin; i < end; ++i) lines.add(oracle::to_json(oracle::make_document(corpus, i)));
  lines.finish();
  return lines;
}

class MemorySource : public Source {
 public:
  explicit MemorySource(const Lines& lines) : lines_(lines) {}
  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    const size_t end = std::min(lines_.places.size(), at_ + kBatch);
    for (; at_ < end; ++at_) {
      auto [offset, length] = lines_.places[at_];
      batch.records.push_back({.value = std::string_view(lines_.bytes).substr(offset, length),
                               .source = "memory",
                               .offset = offset,
                               .line = at_ + 1});
      batch.bytes += length;
    }
    return !batch.records.empty();
  }
  uint64_t bytes_total() const override { return lines_.bytes.size(); }
  uint64_t bytes_read() const override { return 0; }

 private:
  const Lines& lines_;
  size_t at_ = 0;
};

// Remembers what was decided in one number, so that runs can be compared.
class CountingSink : public Sink {
 public:
  absl::Status write(const Decided& decided) override {
    for (const Outcome& o : decided.work.resolved.outcomes) {
      fingerprint =
          mix64(fingerprint ^ (static_cast<uint64_t>(o.verdict) << 60 ^ o.seq ^ o.similarity.inter << 20));
    }
    return absl::OkStatus();
  }
  std::string position() const override { return {}; }
  uint64_t fingerprint = 0;
};

}  // namespace doppel
