#include "metrics/metrics.h"

#include <prometheus/collectable.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/clock.h"
#include "state/segment_file.h"

namespace doppel {
namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// Collects all metrics through prometheus-cpp's interface.
class Metrics::Everything final : public prometheus::Collectable {
 public:
  explicit Everything(const Metrics& metrics) : m_(metrics) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    Families out;
    out.gauge("doppel_build_info", "Always 1; the labels describe the build.", 1,
              {{"version", m_.options_.version},
               {"mode", m_.options_.stream.kafka ? "kafka" : "files"},
               {"replay", m_.options_.stream.replay ? "true" : "false"}});
    if (m_.options_.decides) {
      m_.stream_.collect(out);
      m_.index_.collect(out);
    }
    std::lock_guard lock(m_.mutex_);
    out.gauge("doppel_ready", "1 when the index is restored and the stream runs.", m_.ready_ ? 1 : 0);
    out.gauge("doppel_standby", "1 while another daemon serves the index, and this one follows its log.",
              !m_.ready_ && m_.restore_.phase == kStandingBy ? 1 : 0);
    out.gauge("doppel_restore_duration_seconds", "How long restoring the index took, or takes so far.",
              m_.ready_ ? m_.restore_s_ : seconds_since(m_.restore_start_));
    const double total = static_cast<double>(m_.restore_.total);
    out.gauge("doppel_restore_progress_ratio", "How much of the current step of restoring is done.",
              m_.ready_   ? 1
              : total > 0 ? std::min(1.0, static_cast<double>(m_.restore_.done) / total)
                          : 0);
    for (const Pull& pull : m_.pulls_) pull(out);
    collect_process(out);
    return out.take();
  }

 private:
  const Metrics& m_;
};

Metrics::Metrics(const MetricsOptions& options)
    : options_(options),
      stream_(options.stream),
      index_(options.limits, options.state_directory),
      restore_start_(Clock::now()),
      everything_(std::make_unique<Everything>(*this)) {}

Metrics::~Metrics() = default;

void Metrics::observe(const Decided& decided, const BatchTimes& times) {
  stream_.observe(decided, times, Clock::unix_ms());
}

void Metrics::publish(const Originals& index, const StateDir& state) {
  constexpr std::chrono::milliseconds kEvery(200);
  const Clock::time_point now = Clock::now();
  if (now - published_ < kEvery) return;
  published_ = now;
  index_.publish(index.stats(), state.checkpoint_stats());
}

void Metrics::restoring(const RestoreProgress& progress) {
  std::lock_guard lock(mutex_);
  restore_ = progress;
}

void Metrics::restored() {
  std::lock_guard lock(mutex_);
  if (!ready_) restore_s_ = seconds_since(restore_start_);
  ready_ = true;
}

std::shared_ptr<void> Metrics::pull(Pull pull) {
  std::lock_guard lock(mutex_);
  pulls_.push_front(std::move(pull));
  return {nullptr, [this, at = pulls_.begin()](void*) {
            std::lock_guard gone(mutex_);
            pulls_.erase(at);
          }};
}

std::string Metrics::text() const { return to_text(everything_->Collect()); }

void IndexMetrics::publish(const OriginalsStats& index, const CheckpointStats& checkpoints) {
  std::lock_guard lock(mutex_);
  copy_ = {index, checkpoints};
}

void IndexMetrics::holds(uint64_t documents) {
  std::lock_guard lock(mutex_);
  limits_.documents = documents;
}

uint64_t IndexMetrics::originals() const {
  std::lock_guard lock(mutex_);
  return copy_ ? copy_->index.live : 0;
}

void IndexMetrics::collect(Families& out) const {
  collect_files(out);
  collect_disk(out, directory_);

  std::lock_guard lock(mutex_);
  if (limits_.documents != 0)
    out.gauge("doppel_index_documents_limit", "Limit of live originals; above it the oldest are removed.",
              static_cast<double>(limits_.documents));
  if (limits_.memory != 0)
    out.gauge("doppel_index_bytes_limit", "Memory that the index may take (max_memory).",
              static_cast<double>(limits_.memory));
  if (!copy_) return;
  const OriginalsStats& index = copy_->index;
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  out.gauge("doppel_index_documents", "Live originals.", number(index.live));
  out.gauge("doppel_index_rows", "Originals in memory, including removed ones whose place is not reused yet.",
            number(index.rows));
  constexpr std::string_view kBytes = "Memory of the index.";
  out.gauge("doppel_index_bytes", kBytes, number(index.table_bytes), {{"part", "tables"}});
  out.gauge("doppel_index_bytes", kBytes, number(index.row_bytes), {{"part", "rows"}});
  if (index.old) {
    out.gauge("doppel_index_bytes", kBytes, number(index.old->memory_bytes), {{"part", "filters"}});
    out.gauge("doppel_segments", "Segments of old originals.", number(index.old->segments));
    out.gauge("doppel_segment_documents", "Live originals in segments.", number(index.old->live));
    constexpr std::string_view kReads = "Pages of segments that were read.";
    out.counter("doppel_segment_reads_total", kReads, number(index.old->key_pages), {{"part", "keys"}});
    out.counter("doppel_segment_reads_total", kReads, number(index.old->row_pages), {{"part", "rows"}});
  }
  for (size_t i = 0; i < index.shards.size(); ++i) {
    const IndexStats& shard = index.shards[i];
    const Labels labels{{"shard", std::to_string(i)}};
    out.gauge("doppel_index_load_ratio", "Share of the slots of the band tables that is in use.", shard.load,
              labels);
    out.gauge("doppel_index_entries", "Entries in the band tables.", number(shard.entries), labels);
    out.gauge("doppel_index_spilled_entries",
              "Entries that did not fit into their line or the overflow line of their block.",
              number(shard.spilled), labels);
    out.counter("doppel_index_inserts_total", "Entries inserted one by one since the start.",
                number(shard.inserts), labels);
  }
  const CheckpointStats& snapshots = copy_->checkpoints;
  out.counter("doppel_snapshots_total", "Snapshots (checkpoints of the state directory) made.",
              number(snapshots.made));
  out.counter("doppel_snapshot_failures_total", "Snapshots that failed; the daemon stops after one.",
              number(snapshots.failed));
  out.gauge("doppel_snapshot_duration_seconds",
            "How long the last snapshot took, in parallel with the stream.", snapshots.last_s);
  out.gauge("doppel_snapshot_timestamp_seconds", "When the last snapshot was made; 0: none yet.",
            static_cast<double>(snapshots.last_ms) / 1e3);
  out.gauge("doppel_snapshot_uncovered_commits", "Commits since the last snapshot.",
            number(snapshots.commits_since));
}

void IndexMetrics::collect_files(Families& out) const {
  constexpr std::string_view kHelp = "Disk space of the state directory's files.";
  for (const char* name : {"hot", "bodies", "journal"}) {
    struct stat info{};
    if (::stat((directory_ + "/" + name).c_str(), &info) != 0) continue;
    out.gauge("doppel_state_bytes", kHelp, static_cast<double>(info.st_blocks) * 512, {{"file", name}});
  }
  if (const uint64_t bytes = SegmentDirectory::bytes_of(directory_); bytes != 0)
    out.gauge("doppel_state_bytes", kHelp, static_cast<double>(bytes), {{"file", "segments"}});
}

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
