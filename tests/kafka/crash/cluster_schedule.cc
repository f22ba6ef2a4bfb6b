#include "kafka/crash/cluster_schedule.h"

#include <fmt/format.h>

#include <array>
#include <random>

namespace doppel::testing {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t number() { return random_(); }
  uint64_t below(uint64_t end) { return random_() % end; }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  bool chance(double share) { return between(0, 1) < share; }
  ClusterRole role() {
    const double d = between(0, 1);
    return d < 0.25 ? ClusterRole::signer : d < 0.55 ? ClusterRole::resolver : ClusterRole::matcher;
  }

 private:
  std::mt19937_64 random_;
};

ClusterFault any_fault(Dice& dice, double session_s) {
  const double kind = dice.between(0, 1);
  ClusterFault out{.act = kind < 0.5   ? ClusterAct::kill
                          : kind < 0.6 ? ClusterAct::end
                          : kind < 0.8 ? ClusterAct::stop
                                       : ClusterAct::lose_directory,
                   .role = dice.role(),
                   .which = dice.number(),
                   .at_s = dice.between(0, 0.5),
                   .for_s = dice.between(0, 0.3) * session_s};
  if (out.act == ClusterAct::stop)
    out.for_s = (dice.chance(0.5) ? dice.between(0.1, 0.8) : dice.between(1.2, 2)) * session_s;
  // A signer has no directory.
  if (out.act == ClusterAct::lose_directory && out.role == ClusterRole::signer) out.act = ClusterAct::kill;
  out.also = out.act == ClusterAct::kill && dice.chance(0.3);
  return out;
}

void add_faults(ClusterStep& step, Dice& dice, size_t count, double session_s) {
  for (size_t i = 0; i < count; ++i) step.faults.push_back(any_fault(dice, session_s));
}

// Kills every process of one role, or all processes, at the same moment.
void kill_all(ClusterStep& step, Dice& dice) {
  const bool of_all = dice.chance(0.5);
  const ClusterRole only = dice.role();
  for (const auto& [role, count] : {std::pair(ClusterRole::signer, 2), std::pair(ClusterRole::resolver, 2),
                                    std::pair(ClusterRole::matcher, 3)}) {
    if (!of_all && role != only) continue;
    for (int i = 0; i < count; ++i)
      step.faults.push_back({.act = ClusterAct::kill, .role = role, .which = dice.number(), .also = false});
  }
}

ClusterStep make_step(Dice& dice, bool kills_broker, double session_s) {
  ClusterStep out{.documents = 30 + dice.below(170),
                  .progress = dice.chance(0.3) ? 0 : dice.between(0, 0.9),
                  .faults = {}};
  const double kind = dice.between(0, 1);
  if (kills_broker) {
    out.faults.push_back({.act = ClusterAct::kill_broker, .at_s = dice.between(0, 0.4), .for_s = 0});
    add_faults(out, dice, dice.below(4), session_s);
  } else if (kind < 0.45) {
    add_faults(out, dice, 2 + dice.below(5), session_s);
  } else if (kind < 0.60) {
    kill_all(out, dice);
  } else if (kind < 0.75) {
    for (uint64_t turns = 1 + dice.below(3); turns > 0; --turns)
      out.faults.push_back({.act = ClusterAct::turn, .role = ClusterRole::resolver});
    add_faults(out, dice, dice.below(2), session_s);
  } else if (kind < 0.87) {
    out.faults.push_back({.act = ClusterAct::replace, .which = dice.number(), .for_s = dice.between(0, 0.5)});
    add_faults(out, dice, dice.below(4), session_s);
  } else {
    out.faults.push_back(
        {.act = ClusterAct::move, .which = dice.number(), .at_s = 0.2, .also = dice.chance(0.5)});
    for (uint64_t more = dice.below(3); more > 0; --more) {
      ClusterFault fault = any_fault(dice, session_s);
      // The matchers are already being replaced.
      if (fault.role == ClusterRole::matcher) fault.role = ClusterRole::resolver;
      out.faults.push_back(fault);
    }
  }
  return out;
}

}  // namespace

const char* name_of(ClusterAct act) {
  constexpr std::array<const char*, kClusterActs> names{"kill", "end",     "stop", "lose directory",
                                                        "turn", "replace", "move", "kill broker"};
  return names[static_cast<size_t>(act)];
}

std::string ClusterStep::text() const {
  const char* const roles[] = {"signer", "resolver", "matcher"};
  std::string out = fmt::format("{} documents, {:.2f} done", documents, progress);
  for (const ClusterFault& f : faults)
    out += fmt::format(" | {} {} {} at {:.2f}+{:.2f}s{}", name_of(f.act), roles[static_cast<size_t>(f.role)],
                       f.which % 12, f.at_s, f.for_s, f.also ? " also" : "");
  return out;
}

size_t ClusterSchedule::documents() const {
  size_t out = 0;
  for (const ClusterStep& step : steps) out += step.documents;
  return out;
}

ClusterSchedule make_cluster_schedule(uint64_t seed, int round, size_t faults, double session_s) {
  Dice dice(seed * 1'000'003 + static_cast<uint64_t>(round));
  ClusterSchedule out{.own_broker = round % 2 == 1,
                      .rule = static_cast<size_t>(round),
                      .documents_seed = dice.number(),
                      .steps = {}};
  for (size_t count = 0; count < faults; count += out.steps.back().faults.size())
    out.steps.push_back(make_step(dice, out.own_broker && out.steps.size() % 5 == 2, session_s));
  return out;
}

}  // namespace doppel::testing
