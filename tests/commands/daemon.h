#pragma once
// A daemon that runs in parallel to a test, which waits for its output line by line.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace doppel::testing {

class Daemon {
 public:
  explicit Daemon(std::vector<std::string> arguments) {
    int out[2], err[2], in[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0 || ::pipe2(in, O_CLOEXEC) != 0)
      std::abort();
    std::vector<char*> argv{const_cast<char*>(DOPPEL_BINARY)};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    // A signal that the test sends waits until the program is loaded and can handle it.
    sigset_t stops, before;
    ::sigemptyset(&stops);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&stops, signal);
    ::pthread_sigmask(SIG_BLOCK, &stops, &before);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setenv("DOPPEL_HTTP_LISTEN", "", 0);  // several run at once; --set http.listen overrides this
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      ::execv(DOPPEL_BINARY, argv.data());
      ::_exit(127);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    in_ = in[1];
    out_.fd = out[0];
    err_.fd = err[0];
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon() {
    if (pid_ > 0) signal(SIGKILL), wait();
    for (int fd : {in_, out_.fd, err_.fd}) {
      if (fd >= 0) ::close(fd);
    }
  }

  void signal(int number) const { ::kill(pid_, number); }
  void say(const std::string& text) const {
    EXPECT_EQ(::write(in_, text.data(), text.size()), ssize_t(text.size()));
  }
  void close_input() { ::close(std::exchange(in_, -1)); }

  // Returns the next line of stdout, or the next line of the log that contains `text`. Empty after a minute,
  // or at the end.
  std::string line() { return next(out_, ""); }
  std::string log(const std::string& text) { return next(err_, text); }

  // Reads both to their ends. Returns the exit code, or 128 + the signal.
  int wait() {
    while (!next(out_, "").empty()) {
    }
    while (!next(err_, "").empty()) {
    }
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  struct Stream {
    int fd = -1;
    std::string bytes;
  };
  static std::string next(Stream& stream, const std::string& text) {
    for (;;) {
      for (size_t end = stream.bytes.find('\n'); end != std::string::npos; end = stream.bytes.find('\n')) {
        std::string line = stream.bytes.substr(0, end);
        stream.bytes.erase(0, end + 1);
        if (line.find(text) != std::string::npos) return line;
      }
      char buffer[4096];
      pollfd waiting{stream.fd, POLLIN, 0};
      const ssize_t got = ::poll(&waiting, 1, 60'000) > 0 ? ::read(stream.fd, buffer, sizeof buffer) : 0;
      if (got <= 0) return {};
      stream.bytes.append(buffer, static_cast<size_t>(got));
    }
  }

  pid_t pid_;
  int in_;
  Stream out_, err_;
};

}  // namespace doppel::testing
