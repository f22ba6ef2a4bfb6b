#include "kafka/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <fstream>
#include <stdexcept>

namespace doppel::testing {
namespace {

// Returns this process's environment with changes.
std::vector<std::string> merged(const Daemon::Environment& changes) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::string(*entry).find('='));
    if (!changes.contains(name) && name != "DOPPEL_HTTP_LISTEN") out.emplace_back(*entry);
  }
  if (!changes.contains("DOPPEL_HTTP_LISTEN"))  // several run at once
    out.emplace_back("DOPPEL_HTTP_LISTEN=");
  for (const auto& [name, value] : changes) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

std::string program(const Daemon::Environment& environment) {
  const auto at = environment.find("TESTED_PROGRAM");
  if (at != environment.end()) return at->second;
  const char* const inherited = std::getenv("TESTED_PROGRAM");  // NOLINT(concurrency-mt-unsafe)
  return inherited != nullptr ? inherited : DOPPEL_BINARY;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Daemon::Daemon(const std::vector<std::string>& arguments, const Environment& environment) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
  std::vector<std::string> command{program(environment)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = merged(environment);
  // SIGTERM waits until the program is loaded and can handle it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t stops;
  sigemptyset(&stops);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&stops, number);
  posix_spawnattr_setsigmask(&attributes, &stops);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(&pid_, command[0].c_str(), &actions, &attributes, pointers(command).data(),
                                pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  output_ = pipe[0];
  if (error != 0) {
    close(output_);
    throw std::runtime_error(fmt::format("cannot start {}", command[0]));
  }
  reader_ = std::thread([this] { read_output(); });
  waiter_ = std::thread([this] { await_end(); });
}

Daemon::~Daemon() {
  signal(SIGKILL);
  waiter_.join();
  reader_.join();
  close(output_);
  if (std::uncaught_exceptions() > 0) fmt::print(stderr, "process {} said:\n{}", pid_, said());
}

// Notices the end before it reaps the process, so that no other process can have its number when a signal is
// sent.
void Daemon::await_end() {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0) {
  }
  const std::lock_guard lock(mutex_);
  int status = 0;
  waitpid(pid_, &status, 0);
  exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  changed_.notify_all();
}

void Daemon::read_output() {
  std::string rest;
  std::array<char, 65536> buffer{};
  for (ssize_t n = 0; (n = read(output_, buffer.data(), buffer.size())) > 0;) {
    rest.append(buffer.data(), static_cast<size_t>(n));
    const std::lock_guard lock(mutex_);
    for (size_t end = 0; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1))
      lines_.push_back(rest.substr(0, end));
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  if (!rest.empty()) lines_.push_back(rest);
  output_ended_ = true;
  changed_.notify_all();
}

void Daemon::signal(int number) {
  const std::lock_guard lock(mutex_);
  if (!exit_) ::kill(pid_, number);
}

std::optional<int> Daemon::await_exit(Seconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return exit_.has_value() && output_ended_; });
  return exit_;
}

std::optional<std::string> Daemon::await_line(const std::string& part, Seconds patience) {
  std::unique_lock lock(mutex_);
  std::optional<std::string> found;
  changed_.wait_for(lock, patience, [&] {
    while (awaited_ < lines_.size() && !found) {
      if (lines_[awaited_].find(part) != std::string::npos) found = lines_[awaited_];
      ++awaited_;
    }
    return found.has_value() || output_ended_;
  });
  return found;
}

int Daemon::await_http() {
  const std::optional<std::string> line = await_line("listening");
  if (!line || !await_line("ready")) return 0;
  return std::stoi(line->substr(line->rfind(':') + 1));
}

std::string Daemon::said() {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const std::string& line : lines_) out += line + "\n";
  return out;
}

uint64_t Daemon::peak_bytes() const {
  std::ifstream in(fmt::format("/proc/{}/status", pid_));
  for (std::string word; in >> word;) {
    uint64_t kib = 0;
    if (word == "VmHWM:" && in >> kib) return kib << 10;
  }
  return 0;
}

}  // namespace doppel::testing
