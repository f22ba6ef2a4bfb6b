#pragma once
// The common parts of the rounds of a run.

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace doppel::testing {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

inline Clock::time_point after(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

struct Plan {
  uint64_t seed = 0;
  int kills_per_round = 40, takeovers_per_round = 18;
  int takeovers = 0;          // of all rounds; the run ends after these
  int faults_per_round = 50;  // of a cluster
  int recreations_per_round = 6, recreations = 0;
  uint64_t originals = 80'000;  // at the start of a round of takeovers
  std::vector<std::string> points;
  std::string bootstrap;
  Clock::time_point deadline;
  bool verbose = false;
};

struct Totals {
  std::mutex mutex;
  int kills = 0, at_points = 0, terminated = 0;
  int takeovers = 0, kept = 0, stops = 0, broker_kills = 0;
  int faults = 0;  // of clusters
  int recreations = 0, moves = 0;
  size_t lost = 0, doubled = 0, changed = 0;
  double slowest_end_s = 0;  // the slowest end of a daemon that was replaced, once it could know
  std::vector<std::string> findings;
  std::map<std::string, int> points;
  size_t documents = 0;

  void finding(const std::string& text) {
    const std::lock_guard lock(mutex);
    findings.push_back(text);
    std::cerr << "FINDING: " << text << std::endl;
  }
};

// Runs a round of this class; an exception is a finding.
template <typename Round>
void run_round(const Plan& plan, Totals& totals, int number) {
  try {
    Round round(plan, totals, number);
    try {
      round.run();
    } catch (const std::exception& e) {
      round.finding(e.what());
    }
  } catch (const std::exception& e) {
    totals.finding("round " + std::to_string(number) + ": " + e.what());
  }
}

// Runs a round with one index. Its schedule follows from the seed and its number. Findings go to `totals`.
void run_kills(const Plan& plan, Totals& totals, int number);
void run_takeovers(const Plan& plan, Totals& totals, int number);
void run_recreations(const Plan& plan, Totals& totals, int number);
void run_cluster_faults(const Plan& plan, Totals& totals, int number);

}  // namespace doppel::testing
