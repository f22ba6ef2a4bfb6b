#include "daemon/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/notify.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

void Signals::hold() {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Signals::Signals(SignalOptions options) : options_(std::move(options)), timeout_code_(options_.timeout_code) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  hold();
  const sigset_t set = watched();
  signals_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { run(); });
}

Signals::~Signals() {
  done_ = true;
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
  const sigset_t set = watched();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Signals::ends(int timeout_code) {
  timeout_code_ = timeout_code;
  ends_ = true;
  ::eventfd_write(wake_.get(), 1);
}

void Signals::run() {
  std::optional<Clock::time_point> deadline;
  const auto begin_end = [&] {
    if (!deadline) deadline = Clock::now() + options_.shutdown_timeout;
  };
  while (!done_) {
    std::array<pollfd, 2> fds{pollfd{signals_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
    int wait_ms = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      wait_ms = static_cast<int>(std::max<int64_t>(left.count(), 0));
    }
    ::poll(fds.data(), fds.size(), wait_ms);
    if (done_) return;
    eventfd_t ignored = 0;
    if (fds[1].revents != 0) ::eventfd_read(wake_.get(), &ignored);
    if (ends_) begin_end();

    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGHUP) {
        options_.reload();
      } else if (stop_) {
        log::warn("a second signal: ending at once; the next start repeats what is not committed");
        ::_exit(options_.second_code);
      } else {
        log::info("stopping", {{"signal", info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT"},
                               {"shutdown_timeout_ms", options_.shutdown_timeout.count()}});
        notify::stopping();
        stop_ = true;
        begin_end();
      }
    }
    if (deadline && Clock::now() >= *deadline) {
      log::error(
          "the shutdown took longer than shutdown_timeout; the next start repeats what is not committed",
          {{"shutdown_timeout_ms", options_.shutdown_timeout.count()}});
      ::_exit(timeout_code_);
    }
  }
}

}  // namespace doppel
