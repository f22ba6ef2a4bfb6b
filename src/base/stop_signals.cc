#include "base/stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace doppel {
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
