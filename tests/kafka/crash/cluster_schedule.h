#pragma once
// The faults of the processes of an index on many machines, and their times: a pure function of the seed and
// the round.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace doppel::testing {

enum class ClusterRole { signer, resolver, matcher };

enum class ClusterAct {
  kill,            // kill -9; started again later
  end,             // SIGTERM; started again later
  stop,            // SIGSTOP; SIGCONT later
  lose_directory,  // killed; started again with an empty directory
  turn,            // kills the resolver that decides; its standby takes over
  replace,         // starts a second matcher with the same shards, then kills the first one for good
  move,            // from two matchers to four, or back
  kill_broker,     // kill -9; started again later
};
inline constexpr size_t kClusterActs = 8;
const char* name_of(ClusterAct act);

struct ClusterFault {
  ClusterAct act = ClusterAct::kill;
  ClusterRole role = ClusterRole::matcher;
  uint64_t which = 0;  // which of the present processes, modulo their number
  double at_s = 0;     // after the beginning of the step
  double for_s = 0;    // time until it starts again or continues
  // For a move: whether the old matchers stay until the new ones are ready. For a kill: whether the restarted
  // process dies at a kill point, the `which`-th that the code names.
  bool also = false;
};

struct ClusterStep {
  size_t documents = 0;  // number of documents before it
  double progress = 0;   // share of the open documents that must be published before it
  std::vector<ClusterFault> faults;
  std::string text() const;  // for a person
};

struct ClusterSchedule {
  bool own_broker = false;  // a broker that is killed now and then
  size_t rule = 0;          // which of the rules
  uint64_t documents_seed = 0;
  std::vector<ClusterStep> steps;
  size_t documents() const;
};

// Makes at least `faults` faults. A silent process is replaced after `session_s`; some stops are shorter,
// some are longer.
ClusterSchedule make_cluster_schedule(uint64_t seed, int round, size_t faults, double session_s);

}  // namespace doppel::testing
