#pragma once
// When which event happens while one daemon takes over from another: a pure function of the seed and the
// round.

#include <cstdint>
#include <string>
#include <vector>

namespace doppel::testing {

// The state directory of the challenger.
enum class Directory {
  empty,
  old,     // a copy that was taken earlier
  former,  // the directory of a daemon that owned the index before
};

enum class Act { kill, stop, go_on, kill_broker, restart_broker };

struct Event {
  double at = 0;     // as a share of the time of a start, after the first challenger's start
  double later = 0;  // seconds, in addition
  Act act = Act::kill;
  int who = 0;  // 0: the incumbent, 1 and 2: the challengers
};

struct Takeover {
  std::vector<Directory> challengers;  // one or two
  double second_at = 0;                // when the second one starts, as in Event
  std::vector<Event> events;           // in the order of time
  double pause_s = 0;                  // before the takeover begins
  std::string text() const;            // for a person
};

// The setup of a round, and its events.
struct TakeoverSchedule {
  int partitions = 1;
  bool own_broker = false;  // a broker that is killed now and then
  double rate = 0;          // documents per second
  uint64_t documents_seed = 0;
  std::vector<Takeover> takeovers;
};

// `timeout_s`: the time-out of a transaction. Some stops are shorter, some are longer.
TakeoverSchedule make_takeover_schedule(uint64_t seed, int round, int takeovers, double timeout_s);

}  // namespace doppel::testing
