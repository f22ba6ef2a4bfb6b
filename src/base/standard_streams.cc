#include "base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace doppel {
namespace {

std::atomic<int> g_stdout_error = 0;

void failed() {
  note_stdout_error(errno);
  if (stdout_error() == EPIPE) end_as_closed();
}

}  // namespace

void prepare_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The new descriptor is `fd`, the lowest free number. The access mode is the opposite one, so that using
    // the stream still fails.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void write_out(std::string_view text) {
  if (stdout_error() == 0 && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) failed();
}

void flush_out() {
  if (stdout_error() == 0 && std::fflush(stdout) != 0) failed();
}

void write_err(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
}

int stdout_error() { return g_stdout_error.load(std::memory_order_relaxed); }

void note_stdout_error(int error) {
  int none = 0;
  g_stdout_error.compare_exchange_strong(none, error != 0 ? error : EIO);
}

void end_as_closed() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  std::_Exit(128 + SIGPIPE);  // reached if the signal is blocked
}

StdoutBuffer::int_type StdoutBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  write_out({&byte, 1});
  return stdout_error() == 0 ? c : traits_type::eof();
}

std::streamsize StdoutBuffer::xsputn(const char* text, std::streamsize n) {
  write_out({text, static_cast<size_t>(n)});
  return stdout_error() == 0 ? n : 0;
}

int StdoutBuffer::sync() {
  flush_out();
  return stdout_error() == 0 ? 0 : -1;
}

namespace {

volatile std::sig_atomic_t g_asked = 0;
volatile std::sig_atomic_t g_second_code = 0;

void on_signal(int) {
  if (g_asked != 0) ::_exit(g_second_code);
  g_asked = 1;
}

}  // namespace

void catch_stop_signals(int second_code) {
  g_second_code = second_code;
  std::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT}) {
    sigaction(signal, &action, nullptr);
    sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool stop_asked() { return g_asked != 0; }

}  // namespace doppel
