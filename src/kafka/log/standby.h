#pragma once
// Decides whose turn it is to serve an index if several daemons are started for it (kafka.takeover: standby).
// The daemons are members of a consumer group, and its coordinator decides which of them are alive. Standby
// only says when to claim the index log. The log itself decides who owns it (docs/adr/0018).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "config/options.h"
#include "kafka/topics/plan.h"
#include "state/index_log.h"
#include "state/restore.h"

namespace doppel {

class Standby {
 public:
  // Without a group: the index is always ours at once.
  Standby() = default;
  // Joins the group without waiting for it. Calls `restoring` when this daemon becomes a standby and when it
  // stops being one.
  static absl::StatusOr<Standby> join(const Options& options, const KafkaPlan& plan,
                                      ReportProgress restoring);

  // Whether it is our turn; waits up to 200 ms for news. `owner` is the last owner in the log, which the
  // caller has read to its end; empty if unknown. It is our turn if the owner has released the log, if the
  // owner was a predecessor on our state directory, or if the coordinator chose us and the owner has left the
  // group. (An owner that claims after a release serves, whomever the coordinator chose.) After the first
  // `true` the answer stays `true`: a daemon learns from the log that it was replaced.
  absl::StatusOr<bool> ours(const std::string& owner);
  // InvalidArgument: the daemon that serves has other settings than this one, which so would publish
  // something else, or to other topics, when it takes over. The message names them.
  absl::Status may_follow(const kafka::KafkaPosition& position);
  // Whether another daemon has had the turn for long enough to report this one as a standby.
  bool stands_by() const { return stands_by_; }
  // The daemon that serves calls this regularly, to stay in the group.
  void keep();
  const std::string& member() const { return member_; }

 private:
  bool may_claim(const std::string& released_by);
  bool is_alive(const std::string& member);
  const std::vector<std::string>& members();

  std::unique_ptr<kafka::Membership> membership_;
  ReportProgress restoring_;
  std::string group_, index_log_, member_, settings_;
  std::vector<std::string> members_;  // of the group, as of looked_
  Clock::time_point looked_;
  std::string released_by_;
  Clock::time_point may_claim_from_;
  int64_t session_timeout_ms_ = 0;
  std::optional<Clock::time_point> waits_since_;
  bool ours_ = false, stands_by_ = false, chosen_ = false;
  bool warned_ = false;
};

// What the daemon that serves and its standbys must have in common, as in LogOwner::settings.
std::string standby_settings(const Options& options, const KafkaPlan& plan);

// The member name of processes on this state directory. A copy of the directory gets another name.
absl::StatusOr<std::string> member_name(const std::string& state_directory);

}  // namespace doppel
