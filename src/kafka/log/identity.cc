#include "kafka/log/identity.h"

#include <fmt/format.h>

#include "base/status.h"
#include "state/index_log.h"
#include "state/journal.h"

namespace doppel {
namespace {

// The offset of the epoch's record according to the directory's last commit, or -1.
int64_t hint(const LogName& name, const std::optional<LastCommit>& last) {
  if (!last) return -1;
  const auto position = kafka::decode_position(last->record.source_position);
  if (!position.ok() || position->cluster != name.cluster || position->index_log != name.topic) return -1;
  return position->epoch_offset;
}

}  // namespace

absl::StatusOr<LogIdentity> find_identity(kafka::LogReader& log, const kafka::Watermarks& bounds,
                                          const LogName& name, const std::string& state_directory) {
  LogIdentity out;
  uint64_t read = 0;
  absl::Status found = absl::CancelledError("found");
  const auto look = [&](const kafka::LogMessage& m) -> absl::Status {
    ++read;
    if (m.key.size() == sizeof(Seq)) {
      out.strange = out.strange || !out.epoch;
      return absl::OkStatus();
    }
    absl::StatusOr<LogRecord> record = parse_log_record(m.key, m.value, m.has_value);
    if (!record.ok() && !out.epoch) {
      out.strange = true;
      return found;
    }
    RETURN_IF_ERROR(record.status());
    if (auto* epoch = std::get_if<LogEpoch>(&*record)) {
      out.epoch = std::move(*epoch);
      out.offset = m.offset;
    }
    if (auto* rule = std::get_if<LogRule>(&*record)) out.rule = std::move(rule->rule);
    // An unfinished rebuild is read to the end, because a later epoch record may say that it is finished.
    return out.epoch && out.epoch->complete && !out.rule.empty() ? found : absl::OkStatus();
  };
  const std::optional<LastCommit> last = last_commit(state_directory);
  const int64_t at = hint(name, last);
  if (at >= bounds.low && at < bounds.high) {
    const absl::Status status = log.read(at, at + 1, look);
    out.records_read = read;
    if (status.ok() && out.epoch && out.epoch->complete && out.epoch->epoch == last->epoch) {
      out.rule = last->rule;
      return out;
    }
    out = {};
  }
  absl::Status status = log.read(bounds.low, bounds.high, look);
  if (!status.ok() && status != found) return status;
  if (out.epoch) out.strange = false;
  out.records_read = read;
  return out;
}

absl::Status refuse_state_of_another_log(kafka::Cluster& cluster, const LogName& name,
                                         const std::string& state_directory) {
  const std::optional<LastCommit> last = last_commit(state_directory);
  if (!last || (last->record.next_seq == 0 && last->record.documents == 0)) return absl::OkStatus();
  const auto at = kafka::decode_position(last->record.source_position);
  if (!at.ok() || (at->cluster == name.cluster && at->index_log == name.topic)) return absl::OkStatus();
  const absl::StatusOr<kafka::Watermarks> log =
      cluster.watermarks({name.topic, 0}, kafka::Isolation::uncommitted);
  if (log.ok() ? log->high > 0 : !absl::IsNotFound(log.status())) return absl::OkStatus();
  constexpr const char* kRebuild = "a new index needs a new state directory";
  if (at->cluster == name.cluster) {
    return invalid(
        fmt::format("{} holds the index of the log {}, and there is no index in {}: set kafka.index_log to "
                    "the former, or "
                    "move the index with doppel rebuild --from state; {}",
                    state_directory, at->index_log, name.topic, kRebuild));
  }
  return invalid(fmt::format(
      "{} holds an index of the cluster {}, and kafka.brokers is the cluster {}, where there is no index in "
      "{}: "
      "offsets of another cluster have no meaning. Name the brokers of the index, or move it with doppel "
      "rebuild --from state --offsets keep|FILE; {}",
      state_directory, at->cluster, name.cluster, name.topic, kRebuild));
}

}  // namespace doppel
