// The state directory: what loading, committing and reading cost.

#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "state/state_dir.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

constexpr size_t kBatch = 1024;

std::unique_ptr<StateDir> open(const std::string& path, Fsync fsync = Fsync::none) {
  return *StateDir::open({.directory = path,
                          .data_scheme = {},
                          .rule = {},
                          .fsync = fsync,
                          .checkpoint_documents = 1'000'000,
                          .sync_outputs = {}},
                         {});
}

// `batches` commits of originals with bodies of about 60 + 760 bytes.
void fill(StateDir& state, uint64_t batches) {
  std::mt19937_64 random(1);
  std::vector<uint8_t> slices(128);
  for (uint8_t& s : slices) s = static_cast<uint8_t>(random());
  const uint32_t mask = 0x3ffff;
  const std::string metadata(60, 'm');
  std::string set(760, '\0');
  for (char& c : set) c = static_cast<char>(random());
  Seq seq = state.recovered().next_seq;
  for (uint64_t b = 0; b < batches; ++b) {
    Commit commit;
    for (size_t i = 0; i < kBatch; ++i) {
      StoredRow stored;
      stored.seq = seq++;
      stored.row.slices = slices.data();
      stored.row.mask = &mask;
      stored.row.body = *state.bodies().append({metadata, set});
      commit.rows.push_back(stored);
    }
    commit.clock.assign(100, 'c');
    commit.documents = seq;
    if (!state.commit(commit).ok()) std::abort();
  }
}

void LoadRows(benchmark::State& bench) {
  const TemporaryDirectory directory;
  const auto rows = static_cast<uint64_t>(bench.range(0));
  {
    const auto state = open(directory.path());
    fill(*state, rows / kBatch);
    (void)state->checkpoint();
  }
  const auto state = open(directory.path());
  for (auto _ : bench) {
    uint64_t sum = 0;
    (void)state->load_rows([&](const StoredRow& row) { sum += row.row.slices[0]; });
    benchmark::DoNotOptimize(sum);
  }
  bench.SetItemsProcessed(bench.iterations() * bench.range(0));
}
BENCHMARK(LoadRows)->Arg(1 << 20)->Unit(benchmark::kMillisecond);

// After a crash: what came behind the checkpoint is checked byte for byte.
void OpenAfterCrash(benchmark::State& bench) {
  const TemporaryDirectory directory;
  fill(*open(directory.path()), static_cast<uint64_t>(bench.range(0)) / kBatch);
  for (auto _ : bench) benchmark::DoNotOptimize(open(directory.path()));
  bench.SetItemsProcessed(bench.iterations() * bench.range(0));
}
BENCHMARK(OpenAfterCrash)->Arg(1 << 18)->Unit(benchmark::kMillisecond);

void CommitBatch(benchmark::State& bench) {
  const TemporaryDirectory directory;
  const auto state = open(directory.path(), static_cast<Fsync>(bench.range(0)));
  Commit commit;
  std::vector<uint8_t> slices(128, 7);
  const uint32_t mask = 0x3ffff;
  const std::string metadata(60, 'm'), set(760, 's');
  Seq seq = 0;
  for (auto _ : bench) {
    commit.rows.clear();
    for (size_t i = 0; i < kBatch; ++i) {
      StoredRow stored;
      stored.seq = seq++;
      stored.row.slices = slices.data();
      stored.row.mask = &mask;
      stored.row.body = *state->bodies().append({metadata, set});
      commit.rows.push_back(stored);
    }
    if (!state->commit(commit).ok()) std::abort();
  }
  bench.SetItemsProcessed(bench.iterations() * static_cast<int64_t>(kBatch));
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) bytes += entry.file_size();
  bench.counters["bytes_each"] = static_cast<double>(bytes) / static_cast<double>(seq);
}
BENCHMARK(CommitBatch)
    ->ArgName("fsync")
    ->Arg(static_cast<int>(Fsync::none))
    ->Arg(static_cast<int>(Fsync::commit))
    ->Iterations(200)
    ->Unit(benchmark::kMillisecond);

void ReadBody(benchmark::State& bench) {
  const TemporaryDirectory directory;
  const auto bodies = *temporary_bodies(directory.path());
  std::vector<BodyRef> refs;
  const std::string metadata(60, 'm'), set(760, 's');
  for (int i = 0; i < 100'000; ++i) refs.push_back(*bodies->append({metadata, set}));
  (void)bodies->flush();
  std::mt19937_64 random(1);
  std::string buffer;
  for (auto _ : bench) benchmark::DoNotOptimize(bodies->read(refs[random() % refs.size()], buffer));
  bench.SetItemsProcessed(bench.iterations());
}
BENCHMARK(ReadBody);

}  // namespace
}  // namespace doppel
BENCHMARK_MAIN();
