#include "commands/progress.h"
#include "commands/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "insight/show.h"

namespace doppel {

StatusLine::StatusLine(std::string command, bool quiet)
    : command_(std::move(command)), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

void StatusLine::show(std::string_view text) {
  if (quiet_ || !terminal_) return;
  const std::lock_guard lock(mutex_);
  print_err("\r{}\x1b[K", text);
  on_screen_ = true;
}

void StatusLine::message(std::string_view text) {
  if (quiet_ || text.empty()) return;
  const std::lock_guard lock(mutex_);
  clear_locked();
  print_err("doppel {}: {}\n", command_, text);
}

void StatusLine::clear() {
  const std::lock_guard lock(mutex_);
  clear_locked();
}

void StatusLine::clear_locked() {
  if (on_screen_) print_err("\r\x1b[K");
  on_screen_ = false;
}

void ListingProgress::update(uint64_t files) {
  const Clock::time_point now = Clock::now();
  if (files < files_ || next_ == Clock::duration::zero()) {  // another listing
    start_ = last_ = now;
    next_ = std::chrono::seconds(2);
  }
  files_ = files;
  const bool due =
      line_.on_terminal() ? now - last_ >= std::chrono::milliseconds(200) : now - start_ >= next_;
  if (!due) return;
  last_ = now;
  next_ = 2 * (now - start_);
  const std::string text = fmt::format("listing the input: {} so far", counted(files, "file"));
  line_.on_terminal() ? line_.show(text) : line_.message(text);
}

Progress::Progress(const Source& source, const Originals& index, StatusLine& line)
    : source_(source), index_(index), line_(line), start_(std::chrono::steady_clock::now()), last_(start_) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::update(const Counters& c) {
  if (line_.quiet() || !line_.on_terminal()) return;
  auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  const double s = seconds();
  const OriginalsStats stats = index_.stats();
  std::string line = fmt::format("{} documents  {}/s  {:.0f} MB/s  {:.1f} % duplicates  index {}",
                                 with_commas(c.records), with_commas(static_cast<uint64_t>(c.records / s)),
                                 c.bytes / 1e6 / s, c.records == 0 ? 0.0 : 100.0 * c.duplicates() / c.records,
                                 human_bytes(stats.memory_bytes()));
  const uint64_t total = source_.bytes_total();
  const uint64_t read = source_.bytes_read();
  if (total != 0 && read != 0) {
    double left = s * (static_cast<double>(total) / read - 1);
    line += fmt::format("  {:.0f} %  {} left", 100.0 * std::min(read, total) / total,
                        human_seconds(std::max(0.0, left)));
  }
  line_.show(line);
}

std::string human_bytes(uint64_t n) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(n);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", n) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string human_seconds(double s) {
  auto n = static_cast<uint64_t>(std::llround(s));
  if (s < 10) return fmt::format("{:.1f} s", s);
  if (n < 60) return fmt::format("{} s", n);
  if (n < 3600) return fmt::format("{} min {:02} s", n / 60, n % 60);
  return fmt::format("{} h {:02} min", n / 3600, n / 60 % 60);
}

}  // namespace doppel
