#pragma once
// One run: a broker, documents, and lives of the daemon, one after the other or in parallel, until all
// documents are judged. Then everything that was published is compared with the expected results.

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/cluster.h"

namespace doppel::simulation {

struct RunPlan {
  uint64_t seed = 0;
  int lives = 0;
  bool forgets_aborts = false;  // a process that is killed midway sometimes takes the broker along
  std::vector<Event> events;
};

// Returns the plan of a seed.
RunPlan plan_of(uint64_t seed);

struct RunResult {
  std::vector<std::string> findings;  // empty: everything is right
  int lives = 0, killed = 0, replaced = 0, documents = 0, related = 0, requests = 0;
  bool lost = false;  // records that nobody can repair were lost (see Broker): nothing is compared
  uint64_t calls = 0, commits = 0, forgotten = 0;
};

// Call it once per process, because killed lives stay in it. `folder` is a new directory for state
// directories.
RunResult run(const RunPlan& plan, const std::string& folder, bool trace);

}  // namespace doppel::simulation
