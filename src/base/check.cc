// Ends a process that must not continue. This code uses only the stack: the heap may be corrupt, and another
// thread may hold any lock.

#include "base/check.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "doppel/version.h"

#ifdef DOPPEL_FUZZ
extern "C" [[gnu::weak]] int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // in a fuzz target
#endif

namespace doppel {
namespace {

constexpr size_t kMarks = 8;
constexpr size_t kPathMax = 1000;
constexpr int kStderrWaitMs = 1000;  // stderr may have no reader; the process ends anyway

struct Mark {
  std::atomic<bool> used = false;
  std::array<char, kPathMax> path{};
};
std::array<Mark, kMarks> g_marks;
std::mutex g_registering;
std::atomic<bool> g_broken = false;

// A message in a fixed buffer; drops what does not fit. It stays below 4,096 bytes because a write of that
// size to a pipe that is ready does not block.
class Text {
 public:
  void add(std::string_view bytes) {
    const size_t n = std::min(bytes.size(), bytes_.size() - 1 - size_);
    std::memcpy(bytes_.data() + size_, bytes.data(), n);
    size_ += n;
  }
  void add_number(uint64_t number) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    add({digits.data(), static_cast<size_t>(end - digits.data())});
  }
  // Adds printable ASCII and bytes above it; replaces the rest, so that the text is also valid inside a JSON
  // string.
  void add_plain(std::string_view bytes, size_t most) {
    for (const char c : bytes.substr(0, most)) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte == 0x7f) {
        add("?");
      } else if (json_ && (c == '"' || c == '\\')) {
        add(c == '"' ? "'" : "/");
      } else {
        add({&c, 1});
      }
    }
    if (bytes.size() > most) add("...");
  }
  void json() { json_ = true; }
  void end_line() { bytes_[size_++] = '\n'; }
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 4000> bytes_;
  size_t size_ = 0;
  bool json_ = false;
};

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
}

constexpr std::string_view kNothingMore =
    "Nothing more is written; what was committed before stays as it is.";
constexpr std::string_view kSend =
    "This is a defect of doppel, or of this machine's memory. Please report it with this message, the log of "
    "the "
    "minutes before it, the output of 'doppel config print' and of 'doppel inspect', and keep a copy of the "
    "state "
    "directory (never send hash.key). See \"Exit code 70\" in docs/runbook.md.";

}  // namespace

namespace check_internal {

struct Failure {
  const Place& place;
  std::initializer_list<Value> values;

  void add_where(Text& out) const {
    const size_t src = place.file.rfind("/src/");
    out.add(src == std::string_view::npos ? place.file : place.file.substr(src + 1));
    out.add(":");
    out.add_number(static_cast<uint64_t>(place.line));
  }
  void add_values(Text& out) const {
    out.add_plain(place.names, 300);
    out.add(" = ");
    bool first = true;
    for (const Value& value : values) {
      if (!std::exchange(first, false)) out.add(", ");
      if (value.kind_ == Value::Kind::text) {
        out.add_plain(value.text_, 150);
      } else if (value.kind_ == Value::Kind::negative) {
        out.add("-");
        out.add_number(-value.number_);
      } else {
        out.add_number(value.number_);
      }
    }
  }

  void add_reason(Text& out) const {
    out.add("an invariant was broken: ");
    out.add(place.what);
    out.add(" (");
    add_where(out);
    if (values.size() != 0) {
      out.add("; ");
      add_values(out);
    }
    out.add("; doppel " DOPPEL_VERSION_STRING ")");
    out.end_line();
  }

  // Writes the mark files. Returns how many were written.
  size_t mark() const {
    Text text;
    add_reason(text);
    size_t marked = 0;
    for (const Mark& mark : g_marks) {
      if (!mark.used.load(std::memory_order_acquire)) continue;
      const int fd = ::open(mark.path.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      if (fd < 0) continue;
      write_all(fd, text.view());
      ::close(fd);
      ++marked;
    }
    return marked;
  }

  // Adds the first path only: a daemon has one.
  static void add_marks(Text& out) {
    for (const Mark& mark : g_marks) {
      if (!mark.used.load(std::memory_order_acquire)) continue;
      out.add_plain(mark.path.data(), kPathMax);
      return;
    }
  }

  void say(size_t marked) const {
    Text out;
    if (log::form() == log::Form::json) {
      out.json();
      timespec now{};
      ::clock_gettime(CLOCK_REALTIME, &now);
      std::tm utc{};
      ::gmtime_r(&now.tv_sec, &utc);
      std::array<char, 40> time{};
      out.add(R"({"time":")");
      out.add({time.data(), std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)});
      out.add(R"(","level":"error","message":"broken invariant: )");
      out.add_plain(place.what, 300);
      out.add(R"(","where":")");
      add_where(out);
      out.add(R"(","condition":")");
      out.add_plain(place.condition, 300);
      out.add(R"(","values":")");
      if (values.size() != 0) add_values(out);
      out.add(R"(","version":")" DOPPEL_VERSION_STRING R"(","marked":")");
      if (marked != 0) add_marks(out);
      out.add(R"(","exit_code":)");
      out.add_number(kBrokenExitCode);
      out.add(R"(,"help":")");
      out.add_plain(kNothingMore, kNothingMore.size());
      out.add(" ");
      out.add_plain(kSend, kSend.size());
      out.add("\"}");
    } else {
      out.add("doppel: broken invariant: ");
      out.add(place.what);
      out.add("\n  at ");
      add_where(out);
      out.add(" (");
      out.add_plain(place.condition, 300);
      out.add("), doppel " DOPPEL_VERSION_STRING);
      if (values.size() != 0) {
        out.add("\n  values: ");
        add_values(out);
      }
      if (marked != 0) {
        out.add("\n  the next start verifies everything: ");
        add_marks(out);
      }
      out.add("\n  ");
      out.add(kNothingMore);
      out.add(" Exit code ");
      out.add_number(kBrokenExitCode);
      out.add(".\n  ");
      out.add(kSend);
    }
    out.end_line();
    pollfd fd{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&fd, 1, kStderrWaitMs) > 0) write_all(STDERR_FILENO, out.view());
  }
};

void broken(const Place& place, std::initializer_list<Value> values) {
  while (g_broken.exchange(true)) ::pause();  // another thread is about to end the process
  const Failure failure{place, values};
  const size_t marked = failure.mark();
  failure.say(marked);
#ifdef DOPPEL_FUZZ
  if (LLVMFuzzerTestOneInput != nullptr) std::abort();
#endif
  ::_exit(kBrokenExitCode);
}

}  // namespace check_internal

MarkIfBroken::MarkIfBroken(std::string_view path) {
  if (path.size() >= kPathMax) return;
  const std::lock_guard lock(g_registering);
  for (size_t i = 0; i < kMarks; ++i) {
    Mark& mark = g_marks[i];
    if (mark.used.load(std::memory_order_relaxed)) continue;
    std::memcpy(mark.path.data(), path.data(), path.size());
    mark.path[path.size()] = '\0';
    mark.used.store(true, std::memory_order_release);
    slot_ = static_cast<int>(i);
    return;
  }
}

MarkIfBroken::~MarkIfBroken() {
  if (slot_ < 0) return;
  const std::lock_guard lock(g_registering);
  g_marks[static_cast<size_t>(slot_)].used.store(false, std::memory_order_release);
}

}  // namespace doppel
