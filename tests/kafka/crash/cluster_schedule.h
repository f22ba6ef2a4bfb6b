#pragma once
// What happens to the processes of an index on many machines, and when: a pure function of the seed and the
// round.

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
  turn,            // the resolver that decides is killed, and its standby takes over
  replace,         // a second matcher with the same shards starts, then the first one is killed for good
  move,            // from two matchers to four, or back
  kill_broker,     // kill -9; started again later
};
inline constexpr size_t kClusterActs = 8;
const char* name_of(ClusterAct act);

struct ClusterFault {
  ClusterAct act = ClusterAct::kill;
  ClusterRole role = ClusterRole::matcher;
  uint64_t which = 0;  // of those that there are: modulo
  double at_s = 0;     // after the step's beginning
  double for_s = 0;    // until it is started again or goes on
  // Of a move: whether the old matchers stay until the new ones are ready. Of a kill: whether the process,
  // once it is started again, dies at a kill point: the `which`-th of those that the code names.
  bool also = false;
};

struct ClusterStep {
  size_t documents = 0;  // that come before it
  double progress = 0;   // how much of what is open is published before it: a share
  std::vector<ClusterFault> faults;
  std::string text() const;  // for a person
};

struct ClusterSchedule {
  bool own_broker = false;  // which is killed now and then
  size_t rule = 0;          // which of the rules
  uint64_t documents_seed = 0;
  std::vector<ClusterStep> steps;
  size_t documents() const;
};

// At least `faults` faults. `session_s`: after so long a silent process is replaced. Stops are shorter and
// longer.
ClusterSchedule make_cluster_schedule(uint64_t seed, int round, size_t faults, double session_s);

}  // namespace doppel::testing
