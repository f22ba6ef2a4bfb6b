// The start of a Transactor: it claims the log and settles the records that a predecessor left undecided.
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutation.h"
#include "base/status.h"
#include "kafka/log_reader.h"
#include "kafka/transactor.h"

namespace doppel::kafka {

// Two processes that start at the same time fence each other. Random pauses let one of them through.
absl::Status Transactor::claim() {
  constexpr int kDuels = 20;
  uint64_t random = std::hash<std::string>{}(options_.owner);
  for (int fenced = 0;;) {
    absl::Status status = try_claim();
    if (status.ok()) return status;
    if (!may_pass(status)) return status;
    if (stop_()) return absl::CancelledError("stopped while claiming the index log");
    if (absl::IsAborted(status) && ++fenced > kDuels)
      return absl::AbortedError(
          fmt::format("other processes keep claiming the index log {}", options_.index_log));
    log::warn("the index log is not claimed yet; trying again", {{"says", std_sv(status.message())}});
    random = random * 6364136223846793005U + 1442695040888963407U;
    Clock::sleep(absl::IsAborted(status) ? std::chrono::milliseconds((random >> 33) % (20 * fenced + 20))
                                         : kAskAgain);
  }
}

absl::Status Transactor::try_claim() {
  if (!must_send_found_) last_.front().clear();
  RETURN_IF_ERROR(producer_.reopen());
  RETURN_IF_ERROR(settle());
  claim_.clear();
  claim_.add_log(options_.index_log,
                 put_log_owner(claim_.bytes(), {options_.owner, options_.owner_settings}));
  claim_.seal(options_.index_log);
  const std::array<Outbox*, 2> both{&last_.front(), &claim_};
  const absl::Status sent = producer_.send(both);
  must_send_found_ = must_send_found_ || !absl::IsAborted(sent);  // our transaction contains them now
  RETURN_IF_ERROR(refused_for_good());
  RETURN_IF_ERROR(sent);
  const int64_t end = claim_.messages().back().offset + 1;
  for (const auto deadline = Clock::now() + kMarking;;) {
    ASSIGN_OR_RETURN(const int64_t seen, visibility_.seen_to(log_));
    if (seen >= end) break;
    if (Clock::now() > deadline)
      return absl::DeadlineExceededError("kafka: the claim was committed, but readers do not see it");
    Clock::sleep(kStep);
  }
  for (Outbox::Message& m : last_.front().messages()) m.seen = *m.topic == options_.index_log;
  log_offset_ = end;
  return absl::OkStatus();
}

// Publishes the records that a predecessor committed but that the broker forgot to mark. In the log our claim
// does so: its commit makes the records that hang before it visible. In other topics they are discarded and
// sent again together with the claim. Records that the predecessor did not commit are discarded.
absl::Status Transactor::settle() {
  Outbox& found = last_.front();  // we have committed nothing yet
  std::set<std::string> topics = options_.outputs;
  topics.insert(options_.index_log);
  ASSIGN_OR_RETURN(const std::vector<Place> hanging, visibility_.hanging(topics, kMarking));
  if (mutated(Mutation::nothing_is_settled)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t seen, visibility_.seen_to(log_));
  // The findings of a failed attempt are valid as long as nobody else wrote: the predecessor may be alive and
  // may have published them itself.
  bool again = !found.messages().empty();
  if (again) {
    const std::array<Outbox*, 1> ours{&found};
    ASSIGN_OR_RETURN(const std::optional<std::string> owner, foreign_owner(settled_from_, seen, ours));
    if (owner) found.clear();
    again = !owner;
  }
  if (!again) settled_from_ = seen;
  if (hanging.empty() && !again) return absl::OkStatus();
  Outbox hangs;
  ASSIGN_OR_RETURN(const Covers covers, covers_up_to(seen));
  ASSIGN_OR_RETURN(const Hanging what, read_hanging(cluster_, log_, hanging, covers, hangs));
  if (!again) found.swap(hangs);
  if (!what.drop.empty()) {
    log::warn("the broker has ended a transaction without marking its records; settling them",
              {{"partitions", text_of(hanging)}, {"committed", found.messages().size()}});
    // If another process has fenced us meanwhile, its open transaction may be there. The hanging records
    // belong to nobody only while we are not fenced.
    RETURN_IF_ERROR(producer_.drop_hanging(what.drop, [&] { must_send_found_ = true; }));
    RETURN_IF_ERROR(visibility_.hanging(topics, kDropping).status());
  }
  for (Outbox::Message& m : found.messages()) m.seen = false;  // a failed attempt may have discarded it
  RETURN_IF_ERROR(visibility_.look_up(found).status());
  for (Outbox::Message& m : found.messages()) {
    if (what.log_is_whole && *m.topic == options_.index_log) m.seen = true;  // the claim will make it visible
  }
  return absl::OkStatus();
}

// Extends options_.covers by the progress that the predecessor wrote to the log after covers_to.
absl::StatusOr<Covers> Transactor::covers_up_to(int64_t end) {
  ASSIGN_OR_RETURN(const Watermarks bounds, cluster_.watermarks(log_, Isolation::committed));
  ASSIGN_OR_RETURN(LogReader reader, LogReader::open(cluster_, log_));
  std::map<Place, LogProgress> since;
  RETURN_IF_ERROR(
      reader.read(std::max(options_.covers_to, bounds.low), end, [&](const LogMessage& m) -> absl::Status {
        ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
        if (const auto* p = std::get_if<LogProgress>(&record)) since[{p->topic, p->partition}] = *p;
        return absl::OkStatus();
      }));
  return Covers([since = std::move(since), before = options_.covers](const InputPlace& place) {
    const auto at = since.find({place.topic, place.partition});
    return at != since.end() ? covers(at->second, place) : before(place);
  });
}

}  // namespace doppel::kafka
