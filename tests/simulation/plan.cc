// The plan of a seed: which faults come when.
#include "simulation/run.h"

namespace doppel::simulation {
namespace {

constexpr int kCallsOfALife = 160;  // about

class Planner {
 public:
  explicit Planner(uint64_t seed) : random_(seed) {
    plan_.seed = seed;
    plan_.lives = static_cast<int>(4 + below(9));
    plan_.forgets_aborts = seed % 8 == 3;
  }

  RunPlan make() {
    const bool smaller = plan_.seed % 8 == 1, recreates = plan_.seed % 8 == 5;
    const bool loses_tails = plan_.seed % 8 == 4;
    for (life_ = 0; life_ < plan_.lives; ++life_) {
      for (uint64_t count = below(5); count > 0; --count) one();
      if (below(3) == 0 && !plan_.forgets_aborts) add(any_call(), Fault::storm).bits = storm();
      for (uint64_t count = compacts() ? below(4) : 0; count > 0; --count) add(any_call(), Fault::compact);
      if (smaller && below(3) == 0) add(any_call(), Fault::smaller_events);
      if (recreates && below(2) == 0) add(any_call(), Fault::recreate_topic);
      if (loses_tails && below(2) == 0) add(any_call(), Fault::lose_tail);
      if (loses_tails && below(6) == 0) add(any_call(), Fault::recreate_topic);
    }
    return std::move(plan_);
  }

 private:
  bool compacts() const { return plan_.seed % 8 == 0; }
  uint64_t below(uint64_t n) { return random_() % n; }
  int any_call() { return static_cast<int>(1 + below(kCallsOfALife)); }

  Event& add(int call, Fault fault) {
    Event& e = plan_.events.emplace_back(Event{.life = life_, .call = call, .fault = fault});
    e.bits = static_cast<uint32_t>(below(2) == 0 ? ~0U : random_());
    e.ms = static_cast<int64_t>(below(2) == 0 ? below(2'000) : below(25'000));
    return e;
  }

  // Adds one fault. If it leaves something in doubt, more faults often follow.
  void one() {
    static constexpr Fault kUsual[] = {
        Fault::kill,         Fault::kill,        Fault::kill_midway, Fault::pause,       Fault::refuse,
        Fault::lose_answer,  Fault::lose_commit, Fault::lose_commit, Fault::broker_away, Fault::forget_marks,
        Fault::forget_marks, Fault::late_marks,  Fault::implied,     Fault::hide_topic};
    static constexpr Fault kWithForgottenAborts[] = {Fault::kill,        Fault::kill_midway, Fault::refuse,
                                                     Fault::kill_midway, Fault::lose_answer, Fault::implied};
    const Event e = plan_.forgets_aborts
                        ? add(any_call(), kWithForgottenAborts[below(std::size(kWithForgottenAborts))])
                        : add(any_call(), kUsual[below(std::size(kUsual))]);
    if (e.fault != Fault::forget_marks && e.fault != Fault::lose_commit) return;
    const auto soon = [&](uint64_t calls) { return e.call + static_cast<int>(below(calls)); };
    if (below(2) == 0) add(soon(14), Fault::kill);
    if (compacts() && below(2) == 0) add(soon(200), Fault::compact);
    if (below(3) != 0) return;
    for (uint64_t n = 1 + below(3); n > 0; --n)
      add(soon(60), below(2) == 0 ? Fault::refuse : Fault::lose_answer);
  }

  // The fates of the next six commits: half of the storms let none through.
  uint32_t storm() {
    const bool none = below(2) == 0;
    uint32_t bits = 0;
    for (int commit = 0; commit < 6; ++commit)
      bits = bits << 2 | static_cast<uint32_t>(none ? 1 + below(2) : below(4));
    return bits;
  }

  Random random_;
  RunPlan plan_;
  int life_ = 0;
};

}  // namespace

RunPlan plan_of(uint64_t seed) { return Planner(seed).make(); }

}  // namespace doppel::simulation
