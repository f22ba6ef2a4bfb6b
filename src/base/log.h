#pragma once
// The daemon's log: one line on stderr for each noteworthy event, never one for each document.
//
//  text   2026-01-02T03:04:05.678Z INFO checkpoint path="a b"
//   json   {"time":"2026-01-02T03:04:05.678Z","level":"info","message":"checkpoint","path":"a b"}
//
// Each line is one write(2), because control characters in values are escaped. Any thread may call; signal
// handlers may not. Lines that cannot be written are lost silently.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace doppel::log {

enum class Level { debug, info, warn, error };
enum class Form { text, json };

// Holds a view of a text, so build it in the argument list.
class Value {
 public:
  Value(std::string_view text) : value_(text) {}    // NOLINT(google-explicit-constructor)
  Value(const std::string& text) : value_(text) {}  // NOLINT(google-explicit-constructor)
  Value(const char* text) : value_(std::string_view(text)) {}
  Value(bool yes) : value_(yes) {}
  Value(double number) : value_(number) {}  // three decimal places; null if not finite
  template <std::signed_integral T>
  Value(T number) : value_(static_cast<int64_t>(number)) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Value(T number) : value_(static_cast<uint64_t>(number)) {}

  using Is = std::variant<std::string_view, bool, double, int64_t, uint64_t>;
  const Is& is() const { return value_; }

 private:
  Is value_;
};

struct Field {
  std::string_view name;  // letters, digits and underscores
  Value value;
};
using Fields = std::initializer_list<Field>;

// The defaults are text and info. May be called at any time.
void configure(Form form, Level least);
Level level();
Form form();
inline bool enabled(Level l) { return l >= level(); }

void write(Level level, std::string_view message, Fields fields = {});
inline void debug(std::string_view message, Fields fields = {}) { write(Level::debug, message, fields); }
inline void info(std::string_view message, Fields fields = {}) { write(Level::info, message, fields); }
inline void warn(std::string_view message, Fields fields = {}) { write(Level::warn, message, fields); }
inline void error(std::string_view message, Fields fields = {}) { write(Level::error, message, fields); }

// Returns the line that write() would write, with its line end. `time_ms` counts from 1970.
std::string line(Form form, int64_t time_ms, Level level, std::string_view message, Fields fields);

// For programs that have a log of their own, such as Python.
// `text` is the message and its fields, as the text form shows them: without time and level, on one line.
using Receiver = void (*)(Level level, std::string_view text);

// From now on, lines of any level go to `receiver` instead of stderr. Threads that log call it, possibly at
// the same time. nullptr: lines go to stderr again.
void set_receiver(Receiver receiver);

}  // namespace doppel::log
