#include "metrics/process_metrics.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace doppel {
namespace {

// The fields of /proc/self/stat after the program's name, which may contain any characters. [0] is the state,
// the third field of the file.
std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  return {std::istream_iterator<std::string>(rest), {}};
}

// When the machine booted, in seconds since 1970.
double boot_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  double seconds = 0;
  while (file >> word) {
    if (word == "btime" && file >> seconds) break;
  }
  return seconds;
}

}  // namespace

void collect_process(Families& out) {
  const std::vector<std::string> fields = stat_fields();
  constexpr size_t kUser = 11, kSystem = 12, kThreads = 17, kStart = 19, kVirtual = 20, kResident = 21;
  if (fields.size() <= kResident) return;
  const auto field = [&](size_t at) { return std::strtod(fields[at].c_str(), nullptr); };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const double boot = boot_time();
  out.counter("process_cpu_seconds_total", "CPU time of the process, user and system.",
              (field(kUser) + field(kSystem)) / ticks);
  out.gauge("process_start_time_seconds", "When the process was started, since 1970.",
            boot + field(kStart) / ticks);
  out.gauge("process_resident_memory_bytes", "Resident memory.",
            field(kResident) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  out.gauge("process_virtual_memory_bytes", "Virtual memory.", field(kVirtual));
  out.gauge("process_threads", "Threads of the process.", field(kThreads));
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  out.gauge("process_open_fds", "Open file descriptors.",
            static_cast<double>(std::distance(open, std::filesystem::directory_iterator())));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    out.gauge("process_max_fds", "File descriptors that the process may open.",
              static_cast<double>(limit.rlim_cur));
}

void collect_disk(Families& out, const std::string& directory) {
  struct statvfs disk{};
  if (::statvfs(directory.c_str(), &disk) != 0) return;
  const auto block = static_cast<double>(disk.f_frsize);
  out.gauge("doppel_state_disk_free_bytes", "Free on the file system of the state directory, for this user.",
            static_cast<double>(disk.f_bavail) * block);
  out.gauge("doppel_state_disk_size_bytes", "Size of the file system of the state directory.",
            static_cast<double>(disk.f_blocks) * block);
}

}  // namespace doppel
