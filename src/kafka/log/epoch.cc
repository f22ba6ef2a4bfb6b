#include "kafka/log/epoch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"
#include "state/scheme.h"

namespace doppel {
namespace {

// The same documents under the same settings give the same index, byte for byte, so they get the same epoch.
Epoch epoch_of_rebuild(const WantedLog& wanted, const HashKey& key) {
  const std::string of = wanted.data_scheme + wanted.rule + wanted.cluster + *wanted.rebuilt_from;
  Epoch out{};
  store(out.data(), key.derive("epoch" + of));
  store(out.data() + 8, key.derive("of a rebuild" + of));
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
