#pragma once
// SIGTERM and SIGINT ask a command to stop in an orderly way. The command polls stop_asked().

namespace doppel {

// Call this first in a command, before slow work and before other threads start: an earlier signal kills the
// process. A second signal ends the process at once with `second_code`. Unblocks both signals, whatever the
// parent process did. Also turns SIGXFSZ into an error of write().
void catch_stop_signals(int second_code);

// Whether a signal came since then.
bool stop_asked();

}  // namespace doppel
