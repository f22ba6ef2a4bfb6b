#include "commands/progress.h"
#include "commands/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "insight/show.h"

namespace doppel {

Progress::Progress(const Source& source, const Originals& index, bool wanted)
    : source_(source),
      index_(index),
      shown_(wanted && isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() { clear(); }

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::clear() {
  if (on_screen_) print_err("\r\x1b[K");
  on_screen_ = false;
}

void Progress::update(const Counters& c) {
  if (!shown_) return;
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
  print_err("\r{}\x1b[K", line);
  on_screen_ = true;
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
