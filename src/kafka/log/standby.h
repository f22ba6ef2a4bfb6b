#pragma once
// Whose turn it is to serve an index, where several daemons are started for it (kafka.takeover: standby). The
// daemons are members of a consumer group, and the group coordinator decides which of them are alive. This
// only says when to claim the index log. Who owns it is decided by the log (docs/adr/0018).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "config/options.h"
#include "kafka/topics/plan.h"
#include "state/restore_progress.h"

namespace doppel {

class Standby {
 public:
  // Ours at once, always.
  Standby() = default;
  // Joins the group, without waiting for it. `restoring` learns when this daemon becomes a standby, and when
  // it no longer is one.
  static absl::StatusOr<Standby> join(const Options& options, const KafkaPlan& plan,
                                      ReportProgress restoring);

  // Waits a moment for news. `owner`: of the last claim in the log, which was read to its end; empty: not
  // known. The log is ours if its owner has released it, if the owner was a predecessor on our directory, or
  // if the coordinator chose us and the owner is not a member any more. (An owner that claimed after a
  // release serves, whomever the coordinator chose.) Once it was ours it stays ours: who is taken over learns
  // it from the log.
  absl::StatusOr<bool> ours(const std::string& owner);
  // Whether it has been somebody else's for long enough to say so.
  bool stands_by() const { return stands_by_; }
  // To be called now and then by the daemon that serves.
  void keep();
  const std::string& member() const { return member_; }

 private:
  bool may_claim(const std::string& released_by);
  bool is_alive(const std::string& member);
  const std::vector<std::string>& members();

  std::unique_ptr<kafka::Membership> membership_;
  ReportProgress restoring_;
  std::string group_, index_log_, member_;
  std::vector<std::string> members_;  // of the group, at the last look
  Clock::time_point looked_;
  std::string released_by_;
  Clock::time_point may_claim_from_;
  int64_t session_timeout_ms_ = 0;
  std::optional<Clock::time_point> waits_since_;
  bool ours_ = false, stands_by_ = false, chosen_ = false;
  bool warned_ = false;
};

// The name under which processes on this state directory are members. A copy of the directory gets another
// one.
absl::StatusOr<std::string> member_name(const std::string& state_directory);

}  // namespace doppel
