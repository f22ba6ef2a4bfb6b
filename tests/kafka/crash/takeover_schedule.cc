#include "kafka/crash/takeover_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace doppel::testing {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t number() { return random_(); }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  Directory directory() {
    const double d = between(0, 1);
    return d < 0.4 ? Directory::empty : d < 0.7 ? Directory::old : Directory::former;
  }

 private:
  std::mt19937_64 random_;
};

void add_stop(Takeover& t, Dice& dice, int who, double timeout_s) {
  const double at = dice.between(0, 1.4);
  const bool longer = dice.between(0, 1) < 0.5;
  const double for_s = longer ? dice.between(1.6, 2.4) * timeout_s : dice.between(0.1, 0.8) * timeout_s;
  t.events.push_back({.at = at, .act = Act::stop, .who = who});
  t.events.push_back({.at = at, .later = for_s, .act = Act::go_on, .who = who});
}

Takeover make_takeover(Dice& dice, bool kills_broker, double timeout_s) {
  Takeover t{.challengers = {dice.directory()}, .pause_s = dice.between(0, 0.5)};
  const double kind = dice.between(0, 1);
  if (kills_broker) {
    const double at = dice.between(0, 1.4);
    t.events.push_back({.at = at, .act = Act::kill_broker});
    t.events.push_back({.at = at, .later = dice.between(0, 1), .act = Act::restart_broker});
    return t;
  }
  if (kind < 0.3) return t;
  if (kind < 0.42) {
    t.events.push_back({.at = dice.between(0, 1.4), .act = Act::kill, .who = 0});
  } else if (kind < 0.54) {
    t.events.push_back({.at = dice.between(0, 1.4), .act = Act::kill, .who = 1});
  } else if (kind < 0.70) {
    add_stop(t, dice, 0, timeout_s);
  } else if (kind < 0.86) {
    add_stop(t, dice, 1, timeout_s);
  } else {
    t.challengers.push_back(dice.directory());
    t.second_at = dice.between(0, 0.6);
    if (dice.between(0, 1) < 0.4) add_stop(t, dice, static_cast<int>(dice.number() % 3), timeout_s);
  }
  return t;
}

}  // namespace

std::string Takeover::text() const {
  std::string out;
  for (const Directory d : challengers) {
    out += d == Directory::empty ? "empty " : d == Directory::old ? "old " : "former ";
  }
  if (challengers.size() > 1) out += fmt::format("(the second at {:.2f}) ", second_at);
  const char* const names[] = {"kill", "stop", "go on", "kill broker", "restart broker"};
  const char* const whom[] = {"incumbent", "challenger", "second challenger"};
  for (const Event& e : events) {
    out += fmt::format("| {}{} at {:.2f}+{:.2f}s ", names[static_cast<int>(e.act)],
                       e.act >= Act::kill_broker ? "" : fmt::format(" {}", whom[e.who]), e.at, e.later);
  }
  return out;
}

TakeoverSchedule make_takeover_schedule(uint64_t seed, int round, int takeovers, double timeout_s) {
  Dice dice(seed * 1'000'003 + static_cast<uint64_t>(round));
  TakeoverSchedule out{.partitions = round % 2 == 0 ? 1 : 4,
                       .own_broker = round % 4 == 1 || round % 4 == 2,  // never two at once
                       .rate = dice.between(400, 1'000),
                       .documents_seed = dice.number()};
  for (int i = 0; i < takeovers; ++i) {
    const bool kills_broker = out.own_broker && i % 5 == 3;
    out.takeovers.push_back(make_takeover(dice, kills_broker, timeout_s));
  }
  return out;
}

}  // namespace doppel::testing
