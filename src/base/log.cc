#include "base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <mutex>

#include "base/strings.h"

namespace doppel::log {
namespace {

constexpr std::array<std::string_view, 4> kLower{"debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 4> kUpper{"DEBUG", "INFO", "WARN", "ERROR"};

std::atomic<Form> g_form{Form::text};
std::atomic<Level> g_level{Level::info};
std::atomic<Receiver> g_receiver{nullptr};
std::mutex g_mutex;  // keeps lines apart: write(2) splits a line that is longer than a pipe takes at once

void append_time(std::string& out, int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 48> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  out.append(text.data(), length);
  std::snprintf(text.data(), text.size(), ".%03dZ", static_cast<int>(ms % 1000));
  out.append(text.data());
}

// Whether the text form shows the value without quotes.
bool is_plain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return false;  // allows bytes above 0x7f
  }
  return true;
}

void append_number(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out.append("null");
    return;
  }
  std::array<char, 352> text{};  // 309 digits before the point
  std::snprintf(text.data(), text.size(), "%.3f", number);
  out.append(text.data());
}

void append_value(std::string& out, Form form, const Value& value) {
  std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, std::string_view>) {
          if (form == Form::text && is_plain(content)) {
            out.append(content);
          } else {
            append_json_string(out, content);
          }
        } else if constexpr (std::is_same_v<T, bool>) {
          out.append(content ? "true" : "false");
        } else if constexpr (std::is_same_v<T, double>) {
          append_number(out, content);
        } else {
          out.append(std::to_string(content));
        }
      },
      value.is());
}

// The text form keeps a message as it is, but on one line.
void append_message(std::string& out, std::string_view message) {
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(byte < 0x20 || byte == 0x7f ? ' ' : c);
  }
}

void append_text(std::string& out, std::string_view message, Fields fields) {
  append_message(out, message);
  for (const Field& field : fields) {
    out.push_back(' ');
    out.append(field.name).push_back('=');
    append_value(out, Form::text, field.value);
  }
}

}  // namespace

void configure(Form form, Level least) {
  g_form.store(form, std::memory_order_relaxed);
  g_level.store(least, std::memory_order_relaxed);
}

Level level() { return g_level.load(std::memory_order_relaxed); }
Form form() { return g_form.load(std::memory_order_relaxed); }

std::string line(Form form, int64_t time_ms, Level level, std::string_view message, Fields fields) {
  std::string out;
  out.reserve(256);
  if (form == Form::text) {
    append_time(out, time_ms);
    out.push_back(' ');
    out.append(kUpper[static_cast<size_t>(level)]).push_back(' ');
    append_text(out, message, fields);
  } else {
    out.append(R"({"time":")");
    append_time(out, time_ms);
    out.append(R"(","level":")").append(kLower[static_cast<size_t>(level)]).append(R"(","message":)");
    append_json_string(out, message);
    for (const Field& field : fields) {
      out.push_back(',');
      append_json_string(out, field.name);
      out.push_back(':');
      append_value(out, form, field.value);
    }
    out.push_back('}');
  }
  out.push_back('\n');
  return out;
}

void set_receiver(Receiver receiver) { g_receiver.store(receiver, std::memory_order_release); }

void write(Level level, std::string_view message, Fields fields) {
  if (const Receiver receiver = g_receiver.load(std::memory_order_acquire); receiver != nullptr) {
    std::string text;
    append_text(text, message, fields);
    receiver(level, text);
    return;
  }
  if (!enabled(level)) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string text =
      line(g_form.load(std::memory_order_relaxed),
           std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), level, message, fields);
  std::lock_guard lock(g_mutex);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t n = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) rest.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace doppel::log
