// Kernels of the sketch folder at each SIMD level: sketch_bench --benchmark_filter=...
// Documents have 579 shingles, the mean of the public web text that the goals are stated for.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/checksums.h"
#include "base/simd.h"
#include "sketch/compact_set.h"
#include "sketch/sketch.h"

namespace doppel {
namespace {

constexpr HashKey kKey{1, 2};

// Enough different documents that no branch predictor learns them, few enough for the second-level cache,
// where a document that was just cut into shingles is.
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
    make_compact_set(tops_of(document), result.emplace_back());
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
  CompactSet set;
  size_t i = 0;
  for (auto _ : state) {
    make_compact_set(input[i++ % input.size()], set);
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

// The code that was not chosen (docs/adr/0003-set-coding.md): the same Rice code words one after the other,
// with the same header and CRC in front. 48 bits hold every code word of these sets. Eight bytes of padding,
// which do not count, let the decoder load whole words.
constexpr size_t kPadding = 8;

void encode_sequential(const CompactSet& set, std::string& out) {
  const int b = set.bits - std::bit_width(set.values.size() - 1);
  out.assign(9 + 4 * set.values.size() + 8, '\0');
  char* at = out.data() + 9;
  uint64_t pending = 0;
  int count = 0;
  uint32_t previous = ~0u;
  for (uint32_t value : set.values) {
    const uint32_t gap = value - previous - 1;
    previous = value;
    const int quotient = static_cast<int>(gap >> b);
    pending |= (uint64_t{1} << quotient | uint64_t{gap & ((1u << b) - 1)} << (quotient + 1)) << count;
    for (count += quotient + 1 + b; count >= 16; count -= 16, pending >>= 16, at += 2) {
      store(at, static_cast<uint16_t>(pending));
    }
  }
  store(at, static_cast<uint16_t>(pending));
  out.resize(static_cast<size_t>(at - out.data()) + static_cast<size_t>(count + 7) / 8);
  store(out.data(), crc32c(std::string_view(out).substr(4)));
  out.append(kPadding, '\0');
}

void decode_sequential(const std::string& coded, size_t n, int bits, CompactSet& out) {
  if (load<uint32_t>(coded.data()) != crc32c(std::string_view(coded).substr(4, coded.size() - 4 - kPadding)))
    return;
  const int b = bits - std::bit_width(n - 1);
  out.values.resize(n);
  uint64_t at = 9 * 8;
  uint32_t previous = ~0u;
  for (uint32_t& value : out.values) {
    const uint64_t word = load<uint64_t>(coded.data() + at / 8) >> at % 8;
    const int quotient = std::countr_zero(word);
    previous += (static_cast<uint32_t>(quotient) << b | (word >> (quotient + 1) & ((1u << b) - 1))) + 1;
    value = previous;
    at += static_cast<uint64_t>(quotient) + 1 + static_cast<uint64_t>(b);
  }
}

void sequential_encode(benchmark::State& state) {
  const auto input = sets(state.range(0));
  std::string out;
  size_t bytes = 0;
  size_t i = 0;
  for (auto _ : state) {
    encode_sequential(input[i++ % input.size()], out);
    benchmark::DoNotOptimize(out.data());
    bytes += out.size() - kPadding;
  }
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(state.iterations());
}

void sequential_decode(benchmark::State& state) {
  const auto input = sets(state.range(0));
  std::vector<std::string> coded(input.size());
  CompactSet set;
  for (size_t i = 0; i < input.size(); ++i) {
    encode_sequential(input[i], coded[i]);
    decode_sequential(coded[i], input[i].values.size(), input[i].bits, set);
    if (set.values != input[i].values) state.SkipWithError("wrong set");
  }
  size_t i = 0;
  for (auto _ : state) {
    const size_t at = i++ % input.size();
    decode_sequential(coded[at], input[at].values.size(), input[at].bits, set);
    benchmark::DoNotOptimize(set.values.data());
  }
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
    make_compact_set(tops_of(left[i]), a[i]);
    make_compact_set(tops_of(right[i]), b[i]);
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
  for (Simd level : simd_levels()) {
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
  benchmark::RegisterBenchmark("encode/sequential", sequential_encode)->Arg(579);
  benchmark::RegisterBenchmark("decode/sequential", sequential_decode)->Arg(579);
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
