// Runs thousands of lives of the daemon on a simulated Kafka. It repeats a finding by its seed, and shrinks
// it to the necessary faults. See scripts/simulate.
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <thread>

#include "base/faults.h"
#include "base/log.h"
#include "simulation/run.h"

namespace doppel::simulation {
namespace {

struct Settings {
  uint64_t lives = 2'000;
  uint64_t seed = 0;
  uint64_t first = 0;
  Mutation mutation = Mutation::none;
  bool replay = false, verbose = false;
  unsigned processor = static_cast<unsigned>(::getpid());
  std::string folder;
  std::string least;  // of the run that is replayed: see text_of(RunPlan)
};

struct Totals {
  uint64_t runs = 0, lives = 0, killed = 0, replaced = 0, documents = 0, related = 0, calls = 0, commits = 0,
           forgotten = 0, lost = 0, requests = 0;
};

// Runs in a process of its own, because killed lives stay in it.
std::vector<std::string> run_apart(const RunPlan& plan, const Settings& settings, Totals& totals,
                                   bool trace = false) {
  const std::string folder = fmt::format("{}/{}", settings.folder, ::getpid());
  std::filesystem::create_directories(folder);
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    if (!settings.verbose) {
      if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(9);
    }
    log::configure(log::Form::text, settings.verbose ? log::Level::info : log::Level::error);
    active_mutation = settings.mutation;
    // Only one thread runs at a time: on one processor, they take turns without waking another.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(settings.processor % std::thread::hardware_concurrency(), &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    // More time means that it hangs.
    const rlimit seconds{60, 60};
    ::setrlimit(RLIMIT_CPU, &seconds);
    ::alarm(900);
    const RunResult r = run(plan, folder, trace);
    std::string out =
        fmt::format("{} {} {} {} {} {} {} {} {:d} {}\n", r.lives, r.killed, r.replaced, r.documents,
                    r.related, r.calls, r.commits, r.forgotten, r.lost, r.requests);
    for (const std::string& f : r.findings) out += f + "\n";
    for (size_t at = 0; at < out.size();) {
      const ssize_t n = ::write(ends[1], out.data() + at, out.size() - at);
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::filesystem::remove_all(folder);
  std::vector<std::string> findings;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    findings.push_back(WIFSIGNALED(status)
                           ? fmt::format("the process ended by signal {}", WTERMSIG(status))
                           : fmt::format("the process ended with code {}", WEXITSTATUS(status)));
  size_t at = 0;
  for (int line = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string one = text.substr(at, end - at);
    at = end + 1;
    if (line > 0) {
      findings.push_back(one);
      continue;
    }
    RunResult r;
    int lost = 0;
    if (std::sscanf(one.c_str(), "%d %d %d %d %d %lu %lu %lu %d %d", &r.lives, &r.killed, &r.replaced,
                    &r.documents, &r.related, &r.calls, &r.commits, &r.forgotten, &lost, &r.requests) == 10) {
      totals.lives += static_cast<uint64_t>(r.lives);
      totals.killed += static_cast<uint64_t>(r.killed);
      totals.replaced += static_cast<uint64_t>(r.replaced);
      totals.documents += static_cast<uint64_t>(r.documents);
      totals.related += static_cast<uint64_t>(r.related);
      totals.calls += r.calls;
      totals.commits += r.commits;
      totals.forgotten += r.forgotten;
      totals.requests += static_cast<uint64_t>(r.requests);
      totals.lost += static_cast<uint64_t>(lost);
    }
  }
  ++totals.runs;
  return findings;
}

// Removes faults, and lives from the end, as long as the finding remains.
RunPlan shrink(RunPlan plan, const Settings& settings) {
  Totals ignored;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t i = 0; i < plan.events.size(); ++i) {
      RunPlan without = plan;
      without.events.erase(without.events.begin() + static_cast<std::ptrdiff_t>(i));
      if (run_apart(without, settings, ignored).empty()) continue;
      plan = without;
      smaller = true;
      break;
    }
    RunPlan shorter = plan;
    --shorter.lives;
    std::erase_if(shorter.events, [&](const Event& e) { return e.life >= shorter.lives; });
    if (!smaller && shorter.lives > 0 && !run_apart(shorter, settings, ignored).empty()) {
      plan = shorter;
      smaller = true;
    }
  }
  return plan;
}

// LIVES:LIFE.CALL,LIFE.CALL,...
std::string text_of(const RunPlan& plan) {
  std::string out = fmt::format("{}:", plan.lives);
  for (const Event& e : plan.events) out += fmt::format("{}.{},", e.life, e.call);
  return out;
}

// The same number of lives, with only these faults.
RunPlan only(RunPlan plan, const std::string& least) {
  if (least.empty()) return plan;
  plan.lives = std::atoi(least.c_str());
  const std::string calls = "," + least.substr(least.find(':') + 1) + ",";
  std::erase_if(plan.events, [&](const Event& e) {
    return calls.find(fmt::format(",{}.{},", e.life, e.call)) == std::string::npos;
  });
  return plan;
}

int simulate(const Settings& settings) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Totals totals;
  double said = 0;
  for (uint64_t n = settings.first; totals.lives < settings.lives; ++n) {
    const uint64_t seed = settings.replay ? settings.seed : settings.seed * 1'000'003 + n;
    const RunPlan plan = only(plan_of(seed), settings.least);
    const std::vector<std::string> findings =
        run_apart(plan, settings, totals, settings.replay && settings.verbose);
    if (!findings.empty()) {
      fmt::print("FOUND by run {} after {} lives:\n", seed, totals.lives);
      for (const std::string& f : findings) fmt::print("  {}\n", f);
      if (settings.mutation == Mutation::none) {
        const RunPlan least = shrink(plan, settings);
        Totals ignored;
        fmt::print("the least that shows it: {} lives, {} faults of {}\n", least.lives, least.events.size(),
                   plan.events.size());
        for (const Event& e : least.events) fmt::print("  {}\n", text_of(e));
        for (const std::string& f : run_apart(least, settings, ignored)) fmt::print("  -> {}\n", f);
        fmt::print("replay it: scripts/simulate --replay {0}; the least: --replay {0} --least {1}\n", seed,
                   text_of(least));
      }
      return 1;
    }
    if (settings.replay) break;
    if (seconds() - said > 10) {
      said = seconds();
      fmt::print("{} lives, {:.0f} a second\n", totals.lives, static_cast<double>(totals.lives) / seconds());
      std::fflush(stdout);
    }
  }
  fmt::print(
      "{} runs, {} lives ({} killed, {} replaced), {} documents ({} with relations), {} calls, {} commits, "
      "{} marks forgotten, "
      "{} requests to forget, {} runs beyond repair (docs/adr/0017), seed {}: nothing found; {:.0f} lives a "
      "second\n",
      totals.runs, totals.lives, totals.killed, totals.replaced, totals.documents, totals.related,
      totals.calls, totals.commits, totals.forgotten, totals.requests, totals.lost, settings.seed,
      static_cast<double>(totals.lives) / seconds());
  return 0;
}

// Each known bug must be found within this many lives.
int find_mutations(Settings settings) {
  int missed = 0;
  for (const MutationInfo& m : kMutations) {
    settings.mutation = m.mutation;
    Totals totals;
    bool found = false;
    for (uint64_t n = 0; !found && totals.lives < settings.lives; ++n)
      found = !run_apart(plan_of(settings.seed * 1'000'003 + n), settings, totals).empty();
    fmt::print("{:38} {:>9} {:5} lives   {}\n", m.name, found ? "found by" : "NOT FOUND", totals.lives,
               m.bug);
    std::fflush(stdout);
    missed += found ? 0 : 1;
  }
  fmt::print("{} known bugs, {} not found\n", std::size(kMutations), missed);
  return missed == 0 ? 0 : 1;
}

int main_of(int argc, char** argv) {
  CLI::App app("Lives of the daemon on a simulated Kafka; what they publish is compared with what they must.",
               "simulate");
  Settings s;
  s.seed = std::random_device()();
  std::string mutation;
  bool mutations = false;
  app.add_option("--lives", s.lives, "how many, about")->capture_default_str();
  app.add_option("--seed", s.seed, "decides everything (else a random one, which is printed)");
  auto* replay = app.add_option("--replay", s.seed, "one run again: the number that a finding names");
  app.add_option("--least", s.least, "with --replay: only these faults, as a finding names them");
  app.add_option("--mutation", mutation, "with this known bug put back");
  app.add_flag("--mutations", mutations,
               "with each known bug put back, one after the other: each must be found");
  app.add_flag("--verbose", s.verbose, "with the daemons' logs; with --replay: every call, too");
  CLI11_PARSE(app, argc, argv);
  s.replay = replay->count() != 0;
  for (const MutationInfo& m : kMutations)
    if (m.name == mutation) s.mutation = m.mutation;
  if (!mutation.empty() && s.mutation == Mutation::none) {
    fmt::print(stderr, "simulate: there is no mutation {}\n", mutation);
    return 2;
  }
  const std::string shm = "/dev/shm";
  s.folder = fmt::format("{}/doppel-simulation-{}", std::filesystem::exists(shm) ? shm : "/tmp", ::getpid());
  if (!s.replay) fmt::print("seed {}\n", s.seed);
  std::fflush(stdout);
  const int code = mutations ? find_mutations(s) : simulate(s);
  std::filesystem::remove_all(s.folder);
  return code;
}

}  // namespace
}  // namespace doppel::simulation

int main(int argc, char** argv) { return doppel::simulation::main_of(argc, argv); }
