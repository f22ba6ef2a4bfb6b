#pragma once
// Whose turn it is to serve an index, where several daemons are started for it (kafka.takeover: standby). The
// daemons are members of a consumer group, and the group coordinator decides which of them are alive. This
// only says when to claim the index log. Who owns it is decided by the log (docs/adr/0018).

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "config/options.h"
#include "metrics/restore_progress.h"
#include "serve/kafka_plan.h"

namespace doppel {

class Standby {
 public:
  // Ours at once, always.
  Standby() = default;
  // Joins the group, without waiting for it. `restoring` learns when this daemon becomes a standby, and when
  // it no longer is one.
  static absl::StatusOr<Standby> join(const Options& options, const KafkaPlan& plan,
                                      ReportProgress restoring);

  // Waits a moment for news. Once it was ours it stays ours: who is taken over learns it from the log.
  absl::StatusOr<bool> ours();
  // Whether it has been somebody else's for long enough to say so.
  bool stands_by() const { return stands_by_; }
  // To be called now and then by the daemon that serves.
  void keep();

 private:
  std::unique_ptr<kafka::Membership> membership_;
  ReportProgress restoring_;
  std::string group_, index_log_;
  int64_t session_timeout_ms_ = 0;
  std::optional<Clock::time_point> waits_since_;
  bool ours_ = false, stands_by_ = false;
  bool warned_ = false;
};

// The name under which processes on this state directory are members. A copy of the directory gets another
// one.
absl::StatusOr<std::string> member_name(const std::string& state_directory);

}  // namespace doppel
