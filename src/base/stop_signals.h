#pragma once
// SIGTERM and SIGINT ask a command to end in order: the command asks stop_asked() now and then.

namespace doppel {

// The first call of a command, before anything that takes time and before any other thread starts: a signal
// that comes earlier kills the process. A second signal ends the process at once with `second_code`. Both
// signals are unblocked, whatever the parent process did. SIGXFSZ comes back as an error of write() from here
// on.
void catch_stop_signals(int second_code);

// Whether a signal came since.
bool stop_asked();

}  // namespace doppel
