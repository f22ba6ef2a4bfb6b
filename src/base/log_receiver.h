#pragma once
// For programs that have a log of their own, such as Python.

#include <string_view>

#include "base/log.h"

namespace doppel::log {

// `text` is the message and its fields, as the text form shows them: without time and level, on one line.
using Receiver = void (*)(Level level, std::string_view text);

// From now on, lines of any level go to `receiver` instead of stderr. Threads that log call it, possibly at
// the same time. nullptr: lines go to stderr again.
void set_receiver(Receiver receiver);

}  // namespace doppel::log
