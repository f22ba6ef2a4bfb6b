// Kills `doppel serve` repeatedly, lets others take over from it, or breaks the processes of an index on many
// machines, and compares the committed records at the end with the expected ones. scripts/crash runs it.
// Rounds of one index each run in parallel; a round's schedule follows from the seed and its number.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <climits>
#include <iostream>
#include <random>
#include <thread>

#include "absl/strings/str_split.h"
#include "kafka/broker.h"
#include "kafka/crash/plan.h"

namespace doppel::testing {
namespace {

// A kind of rounds.
struct Kind {
  void (*round)(const Plan&, Totals&, int);
  int wanted;
  int Totals::* done;
  int jobs;  // rounds in parallel
};

std::string text(const Kind& kind, const Totals& totals) {
  if (kind.done == &Totals::faults)
    return fmt::format("{} faults, lost {}, doubled {}, changed {}", totals.faults, totals.lost,
                       totals.doubled, totals.changed);
  if (kind.done == &Totals::takeovers)
    return fmt::format(
        "{} takeovers, {} times the incumbent stayed; {} kills, {} stops, {} kills of a broker; "
        "who was taken over ended after {:.1f} s at most",
        totals.takeovers, totals.kept, totals.kills, totals.stops, totals.broker_kills, totals.slowest_end_s);
  if (kind.done == &Totals::recreations)
    return fmt::format("{} topics made again, offsets moved {} times", totals.recreations, totals.moves);
  return fmt::format("{} kills ({} at named points), {} clean ends", totals.kills, totals.at_points,
                     totals.terminated);
}

int run(int argc, char** argv) {
  Plan plan;
  int kills = 300, takeovers = 0, faults = 300, recreations = 0, jobs = 0, only = -1;
  bool cluster = false;
  double minutes = 60;
  std::string points;
  plan.seed = std::random_device()();
  CLI::App app{
      "kills doppel serve again and again, and compares what it published with what must have been said"};
  app.add_option("--kills", kills, "how often, in all rounds together")->capture_default_str();
  app.add_option("--takeovers", takeovers, "instead: how often a daemon takes over from another that lives");
  app.add_option(
      "--recreations", recreations,
      "instead: how often the input topic is deleted and made again; its offsets are moved in between");
  app.add_option("--originals", plan.originals, "in the index when takeovers begin")->capture_default_str();
  app.add_flag("--cluster", cluster, "instead: break the processes of an index on many machines");
  app.add_option("--faults", faults, "how often, with --cluster")->capture_default_str();
  app.add_option("--seed", plan.seed, "of the schedule; the same seed is the same schedule");
  app.add_option("--minutes", minutes, "no more kills after so long")->capture_default_str();
  app.add_option("--jobs", jobs, "rounds beside each other (3; of takeovers and clusters 2)");
  app.add_option("--round", only, "this one only: the number that a finding names");
  app.add_option("--points", points, "names of kill points, separated by commas");
  app.add_flag("--verbose", plan.verbose, "a line for each round");
  CLI11_PARSE(app, argc, argv);
  const Kind kind = cluster           ? Kind{run_cluster_faults, faults, &Totals::faults, 2}
                    : recreations > 0 ? Kind{run_recreations, recreations, &Totals::recreations, 3}
                    : takeovers > 0   ? Kind{run_takeovers, takeovers, &Totals::takeovers, 2}
                                      : Kind{run_kills, kills, &Totals::kills, 3};
  if (jobs <= 0) jobs = kind.jobs;
  plan.points = absl::StrSplit(points, ',', absl::SkipEmpty());
  plan.takeovers = takeovers;
  plan.recreations = recreations;
  plan.bootstrap = Broker::shared().bootstrap();
  plan.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(60 * minutes));
  std::cout << fmt::format("seed {}\n", plan.seed) << std::flush;

  Totals totals;
  std::atomic<int> next = only >= 0 ? only : 0;
  const int end = only >= 0 ? only + 1 : INT_MAX;
  const auto done = [&] { return totals.*kind.done >= kind.wanted; };
  const auto enough = [&] {
    const std::lock_guard lock(totals.mutex);
    return done() || !totals.findings.empty() || Clock::now() > plan.deadline;
  };
  const auto begin = Clock::now();
  std::vector<std::thread> workers;
  for (int j = 0; j < jobs; ++j) {
    workers.emplace_back([&] {
      for (int number = 0; !enough() && (number = next++) < end;) {
        kind.round(plan, totals, number);
      }
    });
  }
  for (std::thread& w : workers) w.join();
  for (const auto& [point, count] : totals.points)
    std::cout << fmt::format("  {:4} {}{}\n", count, cluster ? "" : "at ", point);
  // In short: stderr has each with the whole logs of its processes.
  for (const std::string& f : totals.findings) std::cout << "FINDING: " << f.substr(0, f.find('\n')) << "\n";
  const bool too_few = only < 0 && !done() && totals.findings.empty();
  if (too_few) std::cout << fmt::format("that was too little for {} minutes\n", minutes);
  std::cout << fmt::format("seed {}: {}, {} documents, {:.0f} s: {} findings\n", plan.seed,
                           text(kind, totals), totals.documents, Seconds(Clock::now() - begin).count(),
                           totals.findings.size());
  return totals.findings.empty() && !too_few ? 0 : 1;
}

}  // namespace
}  // namespace doppel::testing

int main(int argc, char** argv) {
  try {
    return doppel::testing::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "kafka_crash: " << e.what() << "\n";
    return 2;
  }
}
