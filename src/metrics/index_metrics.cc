#include "metrics/index_metrics.h"

#include <sys/stat.h>

#include "metrics/process_metrics.h"
#include "state/segment_directory.h"

namespace doppel {

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

}  // namespace doppel
