// What counting costs, for Prometheus and for the status page: the same documents through the whole pipeline
// in memory, the time of both observe() beside the time of everything. The pipeline's other threads do not
// make it cheaper: one thread, so this is the share of the work.

#include <benchmark/benchmark.h>
#include <time.h>

#include <chrono>
#include <random>

#include "metrics/metrics.h"
#include "metrics/stream_run.h"
#include "status/activity.h"

namespace doppel {
namespace {

// Processor time: what other programs take meanwhile is not counted.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using time_point = duration;
  static duration now() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
  }
};

std::vector<testing::MadeRecord> documents(size_t count, size_t words, int64_t now_ms) {
  std::mt19937_64 random(1);
  std::vector<testing::MadeRecord> out(count);
  std::string before;
  for (size_t i = 0; i < count; ++i) {
    testing::MadeRecord& r = out[i];
    r.offset = i;
    r.timestamp_ms = now_ms - static_cast<int64_t>(random() % 50);
    if (i % 3 == 2 && !before.empty()) {
      r.value = before;
      r.value.replace(r.value.size() / 2, 3, "xyz");
      continue;
    }
    r.value = R"({"url":"https://host)" + std::to_string(random() % 5'000) + R"(.example/a/page","text":")";
    for (size_t w = 0; w < words; ++w) r.value += "w" + std::to_string(random() % 100'000) + " ";
    r.value += "\"}";
    before = r.value;
  }
  return out;
}

// Arguments: words of a document, documents of a batch.
void counting(benchmark::State& state) {
  const int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  const std::vector<testing::MadeRecord> records =
      documents(20'000, static_cast<size_t>(state.range(0)), now_ms);
  Clock::duration all{}, counted{}, shown{};
  uint64_t judged = 0;
  for (auto _ : state) {
    EngineOptions options;
    options.rule = make_rule(0.8, 0.995, 128).value();
    const std::unique_ptr<Bodies> bodies = memory_bodies();
    Engine engine(options, *bodies);
    testing::MadeSource source(records, static_cast<size_t>(state.range(1)));
    testing::NoSink sink;
    Metrics metrics({.stream = {.rule = options.rule, .kafka = true}});
    Activity activity(now_ms);
    Pipeline pipeline{.source = source, .engine = engine, .sink = sink};
    pipeline.observe = [&](const Decided& decided, const BatchTimes& times) {
      const Clock::time_point start = Clock::now();
      metrics.observe(decided, times);
      const Clock::time_point between = Clock::now();
      activity.observe(decided, now_ms);
      counted += between - start;
      shown += Clock::now() - between;
    };
    const Clock::time_point start = Clock::now();
    if (!run_pipeline(pipeline).ok()) state.SkipWithError("the pipeline failed");
    all += Clock::now() - start;
    judged += records.size();
  }
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  const auto n = static_cast<double>(judged);
  state.counters["documents/s"] = n / seconds(all);
  state.counters["counting_ns_each"] = seconds(counted) * 1e9 / n;
  state.counters["share_percent"] = 100 * seconds(counted) / seconds(all);
  state.counters["page_ns_each"] = seconds(shown) * 1e9 / n;
  state.counters["page_share_percent"] = 100 * seconds(shown) / seconds(all);
}
BENCHMARK(counting)->Args({100, 1000})->Args({580, 1000})->Args({580, 256})->Unit(benchmark::kMillisecond);

// One scrape of everything, as Prometheus asks for it.
void scrape(benchmark::State& state) {
  const Metrics metrics({.stream = {.rule = make_rule(0.8, 0.995, 128).value(), .kafka = true}});
  for (auto _ : state) benchmark::DoNotOptimize(metrics.text());
}
BENCHMARK(scrape)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace doppel

BENCHMARK_MAIN();
