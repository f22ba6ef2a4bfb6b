// A batch is sent. What follows depends on the broker's answer:
//
//   it accepts the commit       the batch is committed
//   it fails, or the outcome    replace the producer, so that no transaction of ours is open;
//   is unknown                  discard hanging records, so that none of ours are undecided;
//                               if foreign records follow ours, stop: another process has taken over;
//                               look up what readers see, and send the rest with a new claim
//   it accepts, but a           wait until readers see the batch; if they do not, continue as after a
//   connection broke            failure

#include "kafka/transactor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"
#include "kafka/log_reader.h"

namespace doppel::kafka {
namespace {

constexpr int kAttempts = 3;  // after errors that waiting does not cure
// A fenced process waits kClaiming for the other's claim, and longer each time up to kClaimingMax times that.
constexpr std::chrono::milliseconds kClaiming(1'000);
constexpr int kClaimingMax = 8;

// Whether another process owns the log. This is final, unlike Aborted, which only means that we were fenced.
bool taken_over(const absl::Status& status) { return absl::IsAlreadyExists(status); }

}  // namespace

absl::StatusOr<std::unique_ptr<Transactor>> Transactor::open(Cluster& cluster,
                                                             const TransactorOptions& options,
                                                             std::function<bool()> stop) {
  std::unique_ptr<Transactor> out(new Transactor(cluster, options, std::move(stop)));
  RETURN_IF_ERROR(out->claim());
  return out;
}

// ---- a batch

absl::Status Transactor::commit(Outbox& outbox, const Outbox* refused) {
  const Clock::time_point start = Clock::now();
  if (outbox.messages().empty()) return absl::OkStatus();
  outbox.seal(options_.index_log);
  if (refused != nullptr) outbox.take_seen(*refused);
  absl::Status status = commit_once(outbox);
  if (taken_over(status)) return absl::AbortedError(status.message());
  RETURN_IF_ERROR(status);
  keep(outbox);
  stats_.commits.fetch_add(1, std::memory_order_relaxed);
  stats_.last_commit_s = std::chrono::duration<double>(Clock::now() - start).count();
  return absl::OkStatus();
}

// Commits nothing if the log was deleted and created again, or lost its end, since we wrote to it: our
// records would be stored before the ones that were committed.
absl::Status Transactor::send(Outboxes outboxes) {
  return producer_.send(outboxes, [&] {
    for (const Outbox* o : outboxes) {
      for (const Outbox::Message& m : o->messages())
        if (!m.seen && *m.topic == options_.index_log && m.offset < log_offset_) return log_is_lost(m.offset);
    }
    return absl::OkStatus();
  });
}

// `end`: where it ends now.
absl::Status Transactor::log_is_lost(int64_t end) const {
  return absl::FailedPreconditionError(fmt::format(
      "the index log {} ends at offset {}, but was written up to {}: it was lost, or deleted and created "
      "again. doppel rebuild --from state publishes the index of the state directory again, to a new topic "
      "(--set kafka.index_log=...)",
      options_.index_log, end, log_offset_));
}

absl::Status Transactor::commit_once(Outbox& outbox) {
  const std::vector<Outbox*> all = last_and(&outbox);
  absl::Status failed = std::exchange(broken_, absl::OkStatus());
  sent_again_ = false;
  if (failed.ok()) {
    failed = send(Outboxes(all).last(1));
    if (absl::IsResourceExhausted(failed)) return broken_ = failed;
  }
  if (!failed.ok()) RETURN_IF_ERROR(publish(all, failed));
  const bool troubled = producer_.troubled() && !mutated(Mutation::answers_are_trusted);
  if (troubled) RETURN_IF_ERROR(insist([&] { return await_readers(all); }));
  fenced_in_a_row_ = 0;
  // Earlier batches have new offsets only if they were sent again.
  learn_offsets(failed.ok() && !troubled ? Outboxes(all).last(1) : Outboxes(all));
  return absl::OkStatus();
}

// The next transaction may have to repeat all batches of the last one, so they are kept until then.
void Transactor::keep(Outbox& outbox) {
  const auto settled = [](const Outbox& o) {
    return std::all_of(o.messages().begin(), o.messages().end(), [](const auto& m) { return m.seen; });
  };
  if (sent_again_) last_.remove_if(settled);
  if (sent_again_ && !last_.empty() && !mutated(Mutation::only_one_batch_is_kept)) {
    last_.emplace_back();
  } else {
    last_.resize(1);
  }
  last_.back().swap(outbox);
}

std::vector<Outbox*> Transactor::last_and(Outbox* next) {
  std::vector<Outbox*> out;
  for (Outbox& o : last_) out.push_back(&o);
  if (next != nullptr) out.push_back(next);
  return out;
}

void Transactor::learn_offsets(Outboxes outboxes) {
  for (const Outbox* o : outboxes) {
    for (const Outbox::Message& m : o->messages())
      if (*m.topic == options_.index_log) log_offset_ = std::max(log_offset_, m.offset + 1);
  }
}

absl::Status Transactor::see_last() {
  const std::vector<Outbox*> all = last_and(nullptr);
  RETURN_IF_ERROR(await_readers(all));
  learn_offsets(all);
  return absl::OkStatus();
}

absl::Status Transactor::look_after() {
  if (!producer_.troubled()) return absl::OkStatus();
  const absl::Status status = see_last();
  if (taken_over(status)) return absl::AbortedError(status.message());
  return absl::IsUnavailable(status) ? absl::OkStatus() : status;  // the next call retries
}

absl::Status Transactor::await_last() {
  const absl::Status status = insist([&] { return see_last(); });
  return taken_over(status) ? absl::AbortedError(status.message()) : status;
}

absl::Status Transactor::look_at_end() {
  ASSIGN_OR_RETURN(const int64_t end, visibility_.seen_to(log_));
  const absl::Status status = refuse_foreign_records(last_and(nullptr));
  if (taken_over(status)) return absl::AbortedError(status.message());
  RETURN_IF_ERROR(status);
  log_offset_ = std::max(log_offset_, end);
  return absl::OkStatus();
}

// Sends the messages that readers do not see, until they see all of them. `failed` is the error that left
// this in doubt.
absl::Status Transactor::publish(Outboxes outboxes, absl::Status failed) {
  if (mutated(Mutation::only_the_last_batch)) outboxes = outboxes.last(1);
  std::vector<Outbox*> with_claim{&claim_};
  with_claim.insert(with_claim.end(), outboxes.begin(), outboxes.end());
  for (int attempt = 1; !failed.ok(); ++attempt) {
    log::warn("a transaction failed; asking the broker what is committed",
              {{"says", std_sv(failed.message())}});
    stats_.recoveries.fetch_add(1, std::memory_order_relaxed);
    if (absl::IsAborted(failed)) {
      // The broker's time-out fenced us, or another process, which then claims the log.
      stats_.fenced.fetch_add(1, std::memory_order_relaxed);
      ++fenced_in_a_row_;
      RETURN_IF_ERROR(insist([&] { return await_claim(outboxes); }));
    }
    bool committed = false;
    const absl::Status settled = insist([&] { return recover(outboxes, committed); });
    if (absl::IsAborted(settled)) {  // fenced once more
      failed = settled;
      continue;
    }
    RETURN_IF_ERROR(settled);
    log::info(committed ? "it was committed" : "the batch was not committed; sending it again");
    if (committed) {
      sent_again_ = false;
      break;
    }
    if (absl::IsPermissionDenied(failed) && rights_.waits()) {
      RETURN_IF_ERROR(rights_.wait(failed, stop_));
    } else if (attempt >= kAttempts && !may_pass(failed)) {
      return failed;
    }
    stats_.resent.fetch_add(1, std::memory_order_relaxed);
    // The first transaction of a new producer repeats our claim of the log.
    for (Outbox::Message& m : claim_.messages()) m.seen = false;
    sent_again_ = true;
    failed = send(with_claim);
    RETURN_IF_ERROR(refused_for_good());
    if (absl::IsResourceExhausted(failed)) return broken_ = failed;
  }
  return absl::OkStatus();
}

// A batch that was committed before cannot be encoded smaller, so its refusal is final.
absl::Status Transactor::refused_for_good() {
  for (const Outbox* o : last_and(&noted_)) {
    for (const Outbox::Message& m : o->messages()) {
      if (!m.refused) continue;
      return absl::FailedPreconditionError(fmt::format(
          "the topic {0} refuses a record of {1} bytes that it took before, and that must be sent again "
          "because the broker lost it: the topic's max.message.bytes was lowered; set it to more than {1}, "
          "and start again",
          *m.topic, o->bytes_of(m)));
    }
  }
  return absl::OkStatus();
}

// When it returns OK, no transaction of ours is open or undecided, `seen` of every message is right, and
// nobody else has written to the log.
absl::Status Transactor::recover(Outboxes outboxes, bool& committed) {
  RETURN_IF_ERROR(producer_.reopen());
  std::set<std::string> topics{options_.index_log};
  for (const Outbox* outbox : outboxes) {
    for (const Outbox::Message& m : outbox->messages()) topics.insert(*m.topic);
  }
  RETURN_IF_ERROR(refuse_foreign_records(outboxes));  // before records of another process are discarded
  RETURN_IF_ERROR(drop_what_hangs(topics));
  committed = true;
  for (Outbox* outbox : outboxes) {
    ASSIGN_OR_RETURN(const bool all, visibility_.look_up(*outbox));
    committed = committed && all;
  }
  RETURN_IF_ERROR(refuse_foreign_records(outboxes));
  producer_.forget_trouble();
  return absl::OkStatus();
}

absl::Status Transactor::drop_what_hangs(const std::set<std::string>& topics) {
  if (mutated(Mutation::nothing_is_dropped)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<TopicPartition> hanging, visibility_.hanging(topics, kMarking));
  if (hanging.empty()) return absl::OkStatus();
  if (std::find(hanging.begin(), hanging.end(), log_) != hanging.end()) {
    ASSIGN_OR_RETURN(const std::optional<std::string> owner, hanging_claim(cluster_, log_, options_.owner));
    if (owner) return taken_over_by(*owner);
  }
  log::warn("the broker has ended a transaction without marking its records; dropping them there",
            {{"partitions", text_of(hanging)}});
  RETURN_IF_ERROR(producer_.drop_hanging(hanging));
  // Records that still hang after this belong to another producer's open transaction.
  return visibility_.hanging(topics, kDropping).status();
}

// Waits until readers see the outboxes, which the broker accepted. Publishes them again if they do not.
absl::Status Transactor::await_readers(Outboxes outboxes) {
  std::map<TopicPartition, int64_t> ends;
  for (const Outbox* outbox : outboxes) {
    for (const Outbox::Message& m : outbox->messages()) {
      int64_t& end = ends[{*m.topic, m.stored_in}];
      end = std::max(end, m.offset + 1);
    }
  }
  const auto deadline = Clock::now() + kMarking;
  for (const auto& [where, end] : ends) {
    while (true) {
      ASSIGN_OR_RETURN(const int64_t seen, visibility_.seen_to(where));
      if (seen >= end) break;
      if (Clock::now() > deadline)
        return publish(outboxes, absl::UnavailableError(fmt::format(
                                     "{}/{} was committed up to {}, but readers see it up to {} only",
                                     where.topic, where.partition, end, seen)));
      Clock::sleep(kStep);
    }
  }
  producer_.forget_trouble();
  sent_again_ = false;
  return absl::OkStatus();
}

// Replacing our producer would fence the process that fenced us. So this first gives that process time to
// claim the log, longer each time, so that two processes do not fence each other for ever.
absl::Status Transactor::await_claim(Outboxes outboxes) {
  const auto deadline = Clock::now() + kClaiming * std::min(fenced_in_a_row_, kClaimingMax);
  int64_t looked = log_offset_;
  while (true) {
    ASSIGN_OR_RETURN(const int64_t seen, visibility_.seen_to(log_));
    if (seen > looked) RETURN_IF_ERROR(refuse_foreign_records(outboxes));
    looked = seen;
    if (Clock::now() >= deadline || stop_()) return absl::OkStatus();
    Clock::sleep(kStep);
  }
}

// Fails with AlreadyExists if readers see a record behind log_offset_ that is not ours.
absl::Status Transactor::refuse_foreign_records(Outboxes outboxes) {
  if (mutated(Mutation::foreign_records_are_skipped)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t end, visibility_.seen_to(log_));
  if (end < log_offset_) {
    ASSIGN_OR_RETURN(const int64_t stored, visibility_.stored_to(log_));
    if (stored >= log_offset_) return absl::OkStatus();  // our records hang, so nobody committed behind them
    return log_is_lost(stored);
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> owner, foreign_owner(log_offset_, end, outboxes));
  return owner ? taken_over_by(*owner) : absl::OkStatus();
}

absl::Status Transactor::taken_over_by(const std::string& owner) const {
  return absl::AlreadyExistsError(fmt::format("another process ({}) has taken over the index log {}",
                                              owner.empty() ? "without a name" : owner, options_.index_log));
}

// Looks in [from, to) of the log for records that belong neither to our claim nor to the outboxes. Returns
// the name of their owner, or an empty name if they have no owner record.
absl::StatusOr<std::optional<std::string>> Transactor::foreign_owner(int64_t from, int64_t to,
                                                                     Outboxes outboxes) {
  if (from >= to) return std::optional<std::string>();
  std::set<int64_t> ours;
  const auto add = [&](const Outbox& outbox) {
    for (const Outbox::Message& m : outbox.messages())
      if (*m.topic == options_.index_log) ours.insert(m.offset);
  };
  add(claim_);
  for (const Outbox* outbox : outboxes) add(*outbox);
  ASSIGN_OR_RETURN(LogReader reader, LogReader::open(cluster_, log_));
  std::optional<std::string> owner;
  RETURN_IF_ERROR(reader.read(from, to, [&](const LogMessage& m) -> absl::Status {
    if (ours.contains(m.offset)) return absl::OkStatus();
    if (!owner) owner.emplace();
    const absl::StatusOr<LogRecord> record = parse_log_record(m.key, m.value, m.has_value);
    if (!record.ok()) return absl::OkStatus();
    if (const auto* o = std::get_if<LogOwner>(&*record)) owner = o->owner;
    return absl::OkStatus();
  }));
  return owner;
}

// Repeats the attempt until the broker answers.
absl::Status Transactor::insist(const std::function<absl::Status()>& attempt) {
  for (std::optional<Clock::time_point> said;;) {
    absl::Status status = attempt();
    if (absl::IsPermissionDenied(status) && rights_.waits()) {
      RETURN_IF_ERROR(rights_.wait(status, stop_));
      continue;
    }
    if (!may_pass(status) || absl::IsAborted(status)) return status;
    if (stop_())
      return absl::CancelledError("stopped while it was unknown whether the last batch is committed");
    if (!said || Clock::now() - *said > std::chrono::seconds(30)) {
      said = Clock::now();
      log::warn(absl::IsNotFound(status) ? "a topic is missing; trying again"
                                         : "Kafka does not answer; trying again",
                {{"says", std_sv(status.message())}});
    }
    Clock::sleep(kAskAgain);
  }
}

// The start of a Transactor: it claims the log and settles the records that a predecessor left undecided.

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
  RETURN_IF_ERROR(await_kafka([&] { return note_what_hangs(); }));
  RETURN_IF_ERROR(producer_.reopen());
  RETURN_IF_ERROR(settle());
  RETURN_IF_ERROR(look_up_noted());
  claim_.clear();
  claim_.add_log(options_.index_log,
                 put_log_owner(claim_.bytes(), {options_.owner, options_.owner_settings}));
  claim_.seal(options_.index_log);
  const std::array<Outbox*, 3> all{&noted_, &last_.front(), &claim_};
  const absl::Status sent = producer_.send(all);
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
  for (Outbox::Message& m : noted_.messages()) m.seen = m.seen || *m.topic == options_.index_log;
  last_.emplace_back();
  last_.back().swap(noted_);
  log_offset_ = end;
  return absl::OkStatus();
}

// Repeats the question while no broker answers, and says so once.
absl::Status Transactor::await_kafka(const std::function<absl::Status()>& ask) const {
  for (bool warned = false;; warned = true) {
    absl::Status status = ask();
    if (!absl::IsUnavailable(status)) return status;
    if (stop_()) return absl::CancelledError("stopped while waiting for Kafka");
    if (!warned) log::warn("waiting for Kafka", {{"says", std_sv(status.message())}});
    Clock::sleep(kAskAgain);
  }
}

// To open our producer aborts the transaction that a predecessor has left open, and drops with it the records
// before it in the same partitions that the broker forgot to mark. So this notes first which of them were
// committed: the batches that another one follows in the log, and what is about documents that the log
// covers.
absl::Status Transactor::note_what_hangs() {
  if (mutated(Mutation::nothing_is_noted)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t seen, visibility_.seen_to(log_));
  if (!noted_.messages().empty()) {  // an earlier attempt may have dropped them
    ASSIGN_OR_RETURN(const std::optional<std::string> owner, foreign_owner(noted_from_, seen, {}));
    if (!owner) return absl::OkStatus();
    noted_.clear();
  }
  noted_from_ = seen;
  std::set<std::string> topics = options_.outputs;
  topics.insert(options_.index_log);
  ASSIGN_OR_RETURN(std::vector<TopicPartition> hanging,
                   visibility_.hanging(topics, std::chrono::milliseconds(0)));
  if (hanging.empty()) return absl::OkStatus();
  std::map<TopicPartition, LogProgress> behind;
  const bool log_hangs = std::erase(hanging, log_) != 0;
  if (log_hangs) RETURN_IF_ERROR(read_hanging_batches(cluster_, log_, noted_, behind));
  ASSIGN_OR_RETURN(const Covers covers, covers_up_to(seen, behind));
  ASSIGN_OR_RETURN(const bool named, read_covered(cluster_, hanging, covers, noted_));
  // It is unknown to which batch the others belong. If the log drops theirs, its documents are judged again.
  if (log_hangs && !named) noted_.clear();
  return absl::OkStatus();
}

// After settle(): which of the noted records are to be sent again.
absl::Status Transactor::look_up_noted() {
  if (noted_.messages().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t seen, visibility_.seen_to(log_));
  // If the predecessor lived on and wrote, it has published them itself.
  ASSIGN_OR_RETURN(const std::optional<std::string> owner, foreign_owner(noted_from_, seen, {}));
  if (owner) {
    noted_.clear();
    return absl::OkStatus();
  }
  std::set<std::pair<TopicPartition, int64_t>> found;  // settle() has these, because they still hung
  for (const Outbox::Message& m : last_.front().messages())
    if (m.offset >= 0) found.insert({{*m.topic, m.stored_in}, m.offset});
  for (Outbox::Message& m : noted_.messages())
    m.seen = m.seen || found.contains({{*m.topic, m.stored_in}, m.offset});
  return visibility_.look_up(noted_).status();
}

// Publishes the records that a predecessor committed but that the broker forgot to mark. In the log our claim
// does so: its commit makes the records that hang before it visible. In other topics they are discarded and
// sent again together with the claim. Records that the predecessor did not commit are discarded.
absl::Status Transactor::settle() {
  Outbox& found = last_.front();  // we have committed nothing yet
  std::set<std::string> topics = options_.outputs;
  topics.insert(options_.index_log);
  ASSIGN_OR_RETURN(const std::vector<TopicPartition> hanging, visibility_.hanging(topics, kMarking));
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
    RETURN_IF_ERROR(producer_.drop_hanging(what.drop, {}, [&] { must_send_found_ = true; }));
    RETURN_IF_ERROR(visibility_.hanging(topics, kDropping).status());
  }
  for (Outbox::Message& m : found.messages()) m.seen = false;  // a failed attempt may have discarded it
  RETURN_IF_ERROR(visibility_.look_up(found).status());
  for (Outbox::Message& m : found.messages()) {
    if (what.log_is_whole && *m.topic == options_.index_log) m.seen = true;  // the claim will make it visible
  }
  return absl::OkStatus();
}

// Extends options_.covers by the progress that the predecessor wrote to the log from covers_to to `end`, and
// `behind` it.
absl::StatusOr<Covers> Transactor::covers_up_to(int64_t end,
                                                const std::map<TopicPartition, LogProgress>& behind) {
  ASSIGN_OR_RETURN(const Watermarks bounds, cluster_.watermarks(log_, Isolation::committed));
  ASSIGN_OR_RETURN(LogReader reader, LogReader::open(cluster_, log_));
  std::map<TopicPartition, LogProgress> since;
  RETURN_IF_ERROR(
      reader.read(std::max(options_.covers_to, bounds.low), end, [&](const LogMessage& m) -> absl::Status {
        ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
        if (const auto* p = std::get_if<LogProgress>(&record)) since[{p->topic, p->partition}] = *p;
        return absl::OkStatus();
      }));
  for (const auto& [place, progress] : behind) since.insert_or_assign(place, progress);
  return Covers([since = std::move(since), before = options_.covers](const InputPlace& place) {
    const auto at = since.find({place.topic, place.partition});
    return at != since.end() ? covers(at->second, place) : before(place);
  });
}

}  // namespace doppel::kafka
