#pragma once
// One run: a broker, documents, and lives of the daemon one after the other and beside each other, until all
// documents are judged; then everything that was published is compared with what must have come of them.

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/cluster.h"

namespace doppel::simulation {

struct RunPlan {
  uint64_t seed = 0;
  int lives = 0;
  bool forgets_aborts = false;  // a process that is killed midway takes the broker along, now and then
  std::vector<Event> events;
};

// What a seed means.
RunPlan plan_of(uint64_t seed);

struct RunResult {
  std::vector<std::string> findings;  // empty: all is right
  int lives = 0, killed = 0, replaced = 0, documents = 0, related = 0, requests = 0;
  bool lost = false;  // records that nobody can repair (see Broker): nothing is compared
  uint64_t calls = 0, commits = 0, forgotten = 0;
};

// Once per process: lives that were killed stay behind in it. `folder` is a new one for state directories.
RunResult run(const RunPlan& plan, const std::string& folder, bool trace);

}  // namespace doppel::simulation
