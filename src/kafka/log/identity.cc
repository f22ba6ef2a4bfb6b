#include "kafka/log/identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"
#include "state/index_log.h"
#include "state/journal.h"
#include "state/scheme.h"

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

namespace {

// The same documents under the same settings give the same index, byte for byte, so they get the same epoch.
Epoch epoch_of_rebuild(const WantedLog& wanted, const HashKey& key) {
  const std::string described = wanted.data_scheme + wanted.rule + wanted.cluster + *wanted.rebuilt_from;
  Epoch out{};
  store(out.data(), key.derive("epoch" + described));
  store(out.data() + 8, key.derive("of a rebuild" + described));
  out[6] = static_cast<uint8_t>((out[6] & 0x0f) | 0x80);  // a UUID of version 8
  out[8] = static_cast<uint8_t>((out[8] & 0x3f) | 0x80);
  return out;
}

absl::StatusOr<Epoch> random_epoch() {
  Epoch out{};
  RETURN_IF_ERROR(random_bytes(out.data(), out.size()));
  out[6] = static_cast<uint8_t>((out[6] & 0x0f) | 0x40);  // a UUID of version 4
  out[8] = static_cast<uint8_t>((out[8] & 0x3f) | 0x80);
  return out;
}

}  // namespace

absl::Status check_log(const WantedLog& wanted, const LogIdentity& found) {
  if (!found.epoch) {
    if (wanted.read_only && !wanted.may_be_empty)
      return absl::NotFoundError(fmt::format("the index log {} holds no index yet", wanted.name));
    if (found.strange && wanted.begins > 0) {
      return absl::FailedPreconditionError(fmt::format(
          "the index log {} begins at offset {}: the records before it were deleted, so the index is "
          "not complete. doppel rebuild --from state publishes the index of the state directory "
          "again, to a new topic (--set kafka.index_log=...)",
          wanted.name, wanted.begins));
    }
    if (found.strange)
      return absl::FailedPreconditionError(fmt::format(
          "the topic {} holds records but no index; set kafka.index_log to a topic of its own", wanted.name));
    return absl::OkStatus();
  }
  const LogEpoch& epoch = *found.epoch;
  if (epoch.cluster != wanted.cluster) {
    return absl::FailedPreconditionError(fmt::format(
        "the index log {} was written in the cluster {}, this one is {}: its offsets have no meaning here; "
        "doppel rebuild --from documents makes a new index",
        wanted.name, epoch.cluster, wanted.cluster));
  }
  RETURN_IF_ERROR(refuse_differences(
      fmt::format("the index log {} was made with another data scheme: its signatures do not compare with "
                  "this configuration's. Use those settings, or doppel rebuild --from documents",
                  wanted.name),
      scheme_differences(epoch.data_scheme, wanted.data_scheme)));
  if (wanted.rebuilt_from && epoch.complete) {
    return absl::FailedPreconditionError(fmt::format(
        "the index log {} holds a finished index; a rebuild needs a log of its own", wanted.name));
  }
  if (!wanted.rebuilt_from && !wanted.read_only && !epoch.complete) {
    return absl::FailedPreconditionError(fmt::format(
        "the index log {} is an unfinished rebuild; run the same doppel rebuild again to finish it",
        wanted.name));
  }
  return absl::OkStatus();
}

absl::StatusOr<LogEpoch> new_epoch(const WantedLog& wanted, const HashKey& key) {
  LogEpoch out{.cluster = wanted.cluster,
               .data_scheme = wanted.data_scheme,
               .num_perm = wanted.num_perm,
               .mask_words = wanted.mask_words,
               .complete = !wanted.rebuilt_from,
               .rebuilt_from = wanted.rebuilt_from.value_or("")};
  if (wanted.rebuilt_from) {
    out.epoch = epoch_of_rebuild(wanted, key);
  } else {
    ASSIGN_OR_RETURN(out.epoch, random_epoch());
  }
  return out;
}

std::string make_owner_name(const std::string& member) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  uint32_t random = 0;
  random_bytes(&random, sizeof(random)).IgnoreError();
  return fmt::format("{}/{}/{}/{:08x}{}{}", host.data(), ::getpid(), Clock::unix_ms(), random,
                     member.empty() ? "" : "/", member);
}

}  // namespace doppel
