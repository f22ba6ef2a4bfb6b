// Kernels of the sketch folder at each SIMD level: sketch_bench --benchmark_filter=...
// Documents have 579 shingles, the mean of the public web text that the goals are stated for.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/simd.h"
#include "sketch/compact_set.h"
#include "sketch/sketch.h"

namespace doppel {
namespace {

constexpr HashKey kKey{1, 2};

// Enough different documents that no branch predictor learns them, few enough for the second-level cache, where a
// document that was just cut into shingles is.
std::vector<std::vector<uint64_t>> documents(size_t shingles) {
  const size_t count = std::clamp<size_t>(120'000 / shingles, 1, 1000);
  std::mt19937_64 random(shingles);
  std::vector<std::vector<uint64_t>> result(count);
  for (auto& document : result) {
    for (size_t i = 0; i < shingles; ++i) document.push_back(random());
  }
  return result;
}

PodVector<uint32_t> tops_of(const std::vector<uint64_t>& hashes) {
  PodVector<uint32_t> tops;
  for (uint64_t h : hashes) tops.push_back(static_cast<uint32_t>(h >> 32));
  return tops;
}

std::vector<CompactSet> sets(size_t shingles) {
  std::vector<CompactSet> result;
  for (const auto& document : documents(shingles)) {
    auto tops = tops_of(document);
    make_compact_set(tops, result.emplace_back());
  }
  return result;
}

void sketch(benchmark::State& state, Simd level, SketchFamily family) {
  force_simd(level);
  Sketcher sketcher(family, static_cast<int>(state.range(1)), kKey);
  const auto input = documents(state.range(0));
  std::vector<uint64_t> slots(state.range(1));
  size_t i = 0;
  for (auto _ : state) {
    sketcher.clear(slots.data());
    sketcher.update(slots.data(), input[i++ % input.size()]);
    benchmark::DoNotOptimize(slots.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

void make(benchmark::State& state, Simd level) {
  force_simd(level);
  std::vector<PodVector<uint32_t>> input;
  for (const auto& document : documents(state.range(0))) input.push_back(tops_of(document));
  PodVector<uint32_t> tops;
  CompactSet set;
  size_t i = 0;
  for (auto _ : state) {
    const auto& from = input[i++ % input.size()];
    tops.assign(from.begin(), from.end());
    make_compact_set(tops, set);
    benchmark::DoNotOptimize(set.values.data());
  }
  state.SetItemsProcessed(state.iterations());
}

void encode(benchmark::State& state, Simd level) {
  force_simd(level);
  const auto input = sets(state.range(0));
  std::string out;
  size_t bytes = 0;
  size_t i = 0;
  for (auto _ : state) {
    out.clear();
    encode_compact_set(input[i++ % input.size()], out);
    benchmark::DoNotOptimize(out.data());
    bytes += out.size();
  }
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations());
}

void decode(benchmark::State& state, Simd level) {
  force_simd(level);
  std::vector<std::string> input;
  for (const CompactSet& set : sets(state.range(0))) encode_compact_set(set, input.emplace_back());
  CompactSet set;
  size_t i = 0;
  for (auto _ : state) {
    bool ok = decode_compact_set(input[i++ % input.size()], set).ok();
    benchmark::DoNotOptimize(ok);
  }
  state.SetItemsProcessed(state.iterations());
}

// range(1): percent of the smaller set's shingles that are common; range(2): the other set's shingles.
void overlaps(benchmark::State& state, Simd level) {
  force_simd(level);
  auto left = documents(state.range(0));
  auto right = documents(state.range(2));
  std::vector<CompactSet> a(std::min(left.size(), right.size()));
  std::vector<CompactSet> b(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    size_t common = std::min(left[i].size(), right[i].size()) * state.range(1) / 100;
    std::copy_n(left[i].begin(), common, right[i].begin());
    auto tops = tops_of(left[i]);
    make_compact_set(tops, a[i]);
    tops = tops_of(right[i]);
    make_compact_set(tops, b[i]);
  }
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(overlap(a[i % a.size()], b[i % a.size()]));
    ++i;
  }
  state.SetItemsProcessed(state.iterations());
}

void compare_slices(benchmark::State& state) {
  std::mt19937 random(1);
  std::vector<uint8_t> slices(128 * 1024);
  for (auto& slice : slices) slice = static_cast<uint8_t>(random());
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(equal_slices(&slices[i % 1024 * 128], &slices[(i + 7) % 1024 * 128], 128));
    ++i;
  }
}

void register_all() {
  for (Simd level : {Simd::scalar, Simd::avx2, Simd::avx512}) {
    if (level > simd_supported()) continue;
    std::string suffix = "/";
    suffix += simd_name(level);
    benchmark::RegisterBenchmark(("fast" + suffix).c_str(), sketch, level, SketchFamily::fast)
        ->ArgsProduct({{1, 5, 20, 100, 579, 5000, 100'000}, {128}})
        ->Args({579, 1024});
    benchmark::RegisterBenchmark(("classic" + suffix).c_str(), sketch, level, SketchFamily::classic)
        ->Args({579, 128});
    benchmark::RegisterBenchmark(("make" + suffix).c_str(), make, level)
        ->Arg(5)
        ->Arg(20)
        ->Arg(100)
        ->Arg(200)
        ->Arg(579)
        ->Arg(2000)
        ->Arg(10'000)
        ->Arg(1'000'000);
    benchmark::RegisterBenchmark(("encode" + suffix).c_str(), encode, level)
        ->Arg(20)
        ->Arg(200)
        ->Arg(579)
        ->Arg(10'000);
    benchmark::RegisterBenchmark(("decode" + suffix).c_str(), decode, level)
        ->Arg(20)
        ->Arg(200)
        ->Arg(579)
        ->Arg(10'000);
    benchmark::RegisterBenchmark(("overlap" + suffix).c_str(), overlaps, level)
        ->Args({579, 80, 579})
        ->Args({579, 0, 579})
        ->Args({579, 100, 579})
        ->Args({579, 80, 500})
        ->Args({20, 80, 20});
  }
  benchmark::RegisterBenchmark("equal_slices", compare_slices);
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  doppel::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
