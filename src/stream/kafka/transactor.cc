// The way of a batch:
//
//   send; the broker takes it                    committed
//   it does not, or nobody knows                 begin anew: nothing of ours is open
//                                                drop what hangs: nothing of ours is undecided
//                                                look up what readers see, send the rest: from the beginning
//   it does, but a connection broke meanwhile    readers must come to see it; else as above

#include "stream/kafka/transactor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "stream/kafka/visibility.h"

namespace doppel::kafka {
namespace {

using Clock = std::chrono::steady_clock;
using Where = std::pair<std::string, int32_t>;
constexpr int kAttempts = 3;                      // with an error that waiting does not cure
constexpr std::chrono::milliseconds kPause(200);  // before the broker is asked again
constexpr std::chrono::milliseconds kMarking(
    2'000);  // marks come within milliseconds of their transaction's end
constexpr std::chrono::milliseconds kDropping(10'000);
constexpr std::chrono::milliseconds kStep(20);

Visibility::Partition partition_of(const Where& where) { return {where.first, where.second}; }

std::string list(const std::vector<Visibility::Partition>& partitions) {
  std::string out;
  for (const Visibility::Partition& p : partitions)
    out += fmt::format("{}{}/{}", out.empty() ? "" : " ", p.topic, p.partition);
  return out;
}

// Asks for all messages whose place is known whether readers see them. In one partition a transaction is seen
// as a whole or not at all. True: all are seen.
absl::StatusOr<bool> look_up(Visibility& visibility, Outbox& outbox) {
  bool all = true;
  std::map<Where, std::vector<Outbox::Message*>> parts;
  for (Outbox::Message& m : outbox.messages()) {
    if (m.seen) continue;
    if (m.offset >= 0) {
      parts[{*m.topic, m.stored_in}].push_back(&m);
    } else {
      all = false;
    }
  }
  for (const auto& [where, messages] : parts) {
    std::vector<int64_t> offsets;
    for (const Outbox::Message* m : messages) offsets.push_back(m->offset);
    std::sort(offsets.begin(), offsets.end());
    ASSIGN_OR_RETURN(const bool seen, visibility.sees(partition_of(where), offsets));
    for (Outbox::Message* m : messages) m->seen = seen;
    all = all && seen;
  }
  return all;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transactor>> Transactor::open(const TransactorOptions& options,
                                                             std::function<bool()> stop) {
  std::unique_ptr<Transactor> out(new Transactor(options, std::move(stop)));
  RETURN_IF_ERROR(out->insist([&] { return out->settle_log(); }));
  return out;
}

absl::Status Transactor::commit(Outbox& outbox) {
  const Clock::time_point start = Clock::now();
  const std::array<Outbox*, 2> both{&last_, &outbox};
  const absl::Status failed = producer_.send(Outboxes(both).last(1));
  if (!failed.ok()) RETURN_IF_ERROR(publish(both, failed));
  if (producer_.troubled()) RETURN_IF_ERROR(insist([&] { return await_readers(both); }));
  for (const Outbox* o : both) {
    for (const Outbox::Message& m : o->messages())
      if (*m.topic == options_.index_log) log_offset_ = std::max(log_offset_, m.offset + 1);
  }
  last_.swap(outbox);
  stats_.commits.fetch_add(1, std::memory_order_relaxed);
  stats_.last_commit_s = std::chrono::duration<double>(Clock::now() - start).count();
  return absl::OkStatus();
}

absl::Status Transactor::look_after() {
  if (!producer_.troubled()) return absl::OkStatus();
  const std::array<Outbox*, 1> one{&last_};
  const absl::Status status = await_readers(one);
  return absl::IsUnavailable(status) ? absl::OkStatus() : status;  // it is asked for again
}

// Sends what readers do not see, until they see all of it. `failed` is why that is in doubt.
absl::Status Transactor::publish(Outboxes outboxes, absl::Status failed) {
  bool fenced_once = false;
  for (int attempt = 1; !failed.ok(); ++attempt) {
    log::warn("a transaction failed; asking the broker what is committed",
              {{"says", std_sv(failed.message())}});
    stats_.recoveries.fetch_add(1, std::memory_order_relaxed);
    // Fenced by the broker's time-out, or by another process? That one leaves its name in the log, now or
    // when it fences us again.
    const bool fenced = absl::IsAborted(failed);
    if (fenced) stats_.fenced.fetch_add(1, std::memory_order_relaxed);
    bool committed = false;
    RETURN_IF_ERROR(insist([&] { return recover(outboxes, fenced, committed); }));
    if (!committed && (fenced ? fenced_once : attempt >= kAttempts && !absl::IsUnavailable(failed)))
      return failed;
    fenced_once = fenced_once || fenced;
    log::info(committed ? "it was committed" : "it was not committed; sending it again");
    if (committed) break;
    stats_.resent.fetch_add(1, std::memory_order_relaxed);
    failed = producer_.send(outboxes);
  }
  return absl::OkStatus();
}

// Afterwards nothing of ours is open or undecided, and all messages know whether they are seen.
absl::Status Transactor::recover(Outboxes outboxes, bool fenced, bool& committed) {
  if (fenced) RETURN_IF_ERROR(refuse_if_taken_over());
  RETURN_IF_ERROR(producer_.begin_anew());
  ASSIGN_OR_RETURN(Visibility visibility, Visibility::open(options_.producer.client));
  std::set<std::string> topics{options_.index_log};
  for (const Outbox* outbox : outboxes) {
    for (const Outbox::Message& m : outbox->messages()) topics.insert(*m.topic);
  }
  RETURN_IF_ERROR(drop_what_hangs(visibility, topics));
  committed = true;
  for (Outbox* outbox : outboxes) {
    ASSIGN_OR_RETURN(const bool all, look_up(visibility, *outbox));
    committed = committed && all;
  }
  RETURN_IF_ERROR(read_on());
  if (producer_.troubled()) producer_.forget_trouble();
  return absl::OkStatus();
}

absl::Status Transactor::drop_what_hangs(Visibility& visibility, const std::set<std::string>& topics) {
  ASSIGN_OR_RETURN(const auto hanging, visibility.hanging(topics, kMarking));
  if (hanging.empty()) return absl::OkStatus();
  log::warn("the broker has ended a transaction without marking its records; dropping them there",
            {{"partitions", list(hanging)}});
  RETURN_IF_ERROR(producer_.drop_hanging(hanging));
  // What is left after that is open in somebody else's transaction.
  return visibility.hanging(topics, kDropping).status();
}

// The broker has taken these: they must come to be seen.
absl::Status Transactor::await_readers(Outboxes outboxes) {
  std::map<Where, int64_t> ends;
  for (const Outbox* outbox : outboxes) {
    for (const Outbox::Message& m : outbox->messages()) {
      int64_t& end = ends[{*m.topic, m.stored_in}];
      end = std::max(end, m.offset + 1);
    }
  }
  ASSIGN_OR_RETURN(Visibility visibility, Visibility::open(options_.producer.client));
  const auto deadline = Clock::now() + kMarking;
  for (const auto& [where, end] : ends) {
    while (true) {
      ASSIGN_OR_RETURN(const int64_t seen, visibility.seen_to(partition_of(where)));
      if (seen >= end) break;
      if (Clock::now() > deadline)
        return publish(outboxes, absl::UnavailableError(fmt::format(
                                     "{}/{} was committed up to {}, but readers see it up to {} only",
                                     where.first, where.second, end, seen)));
      std::this_thread::sleep_for(kStep);
    }
  }
  producer_.forget_trouble();
  return absl::OkStatus();
}

// At the start: ends the open transaction of a predecessor. What hangs in the index log was committed if it
// is a whole batch: then readers have seen its events, or will. Our name behind it makes it seen.
absl::Status Transactor::settle_log() {
  RETURN_IF_ERROR(producer_.begin_anew());
  ASSIGN_OR_RETURN(Visibility visibility, Visibility::open(options_.producer.client));
  const std::set<std::string> log{options_.index_log};
  ASSIGN_OR_RETURN(const auto hanging, visibility.hanging(log, kMarking));
  if (hanging.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(LogReader reader,
                   LogReader::open_uncommitted(options_.producer.client, options_.index_log));
  ASSIGN_OR_RETURN(const Watermarks bounds, reader.bounds());
  ASSIGN_OR_RETURN(const int64_t seen, visibility.seen_to(hanging.front()));
  bool whole = true;
  RETURN_IF_ERROR(reader.read(seen, bounds.high, [&](const LogMessage& m) -> absl::Status {
    const absl::StatusOr<LogRecord> record = parse_log_record(m.key, m.value, m.has_value);
    if (!record.ok()) return absl::OkStatus();
    if (std::holds_alternative<LogRow>(*record)) whole = false;
    if (std::holds_alternative<LogProgress>(*record)) whole = true;
    return absl::OkStatus();
  }));
  if (!whole) return drop_what_hangs(visibility, log);
  log::warn("the broker has not marked the last batch in the index log as committed; marking it now",
            {{"from", seen}, {"to", bounds.high}});
  Outbox name;
  name.add_log(options_.index_log, put_log_owner(name.bytes(), {options_.owner}));
  const std::array<Outbox*, 1> one{&name};
  const absl::Status sent = producer_.send(one);
  if (!sent.ok()) return absl::IsAborted(sent) ? sent : absl::UnavailableError(sent.message());
  ASSIGN_OR_RETURN(const auto left, visibility.hanging(log, kDropping));
  return left.empty() ? absl::OkStatus() : absl::UnavailableError("kafka: its marks do not come");
}

// Again and again while the broker does not answer.
absl::Status Transactor::insist(const std::function<absl::Status()>& attempt) {
  while (true) {
    absl::Status status = attempt();
    if (!absl::IsUnavailable(status)) return status;
    if (stop_())
      return absl::CancelledError("stopped while it was unknown whether the last batch is committed");
    log::warn("Kafka does not answer; trying again", {{"says", std_sv(status.message())}});
    std::this_thread::sleep_for(kPause);
  }
}

// Before init_transactions(), which would fence the one that has fenced us.
absl::Status Transactor::refuse_if_taken_over() {
  const int64_t from = log_offset_;
  absl::Status status = read_on();
  log_offset_ = from;
  return status;
}

// Reads the committed log from where we know it to its end. Aborted if another process has left its name.
absl::Status Transactor::read_on() {
  ASSIGN_OR_RETURN(LogReader reader, LogReader::open(options_.producer.client, options_.index_log));
  ASSIGN_OR_RETURN(const Watermarks bounds, reader.bounds());
  if (bounds.high < log_offset_) {
    ASSIGN_OR_RETURN(Visibility visibility, Visibility::open(options_.producer.client));
    ASSIGN_OR_RETURN(const int64_t stored, visibility.stored_to({options_.index_log, 0}));
    if (stored >= log_offset_) return absl::OkStatus();  // it hangs: nobody has committed behind it
    return absl::FailedPreconditionError(fmt::format("{} ends at {}, before offset {} that was committed",
                                                     options_.index_log, stored, log_offset_));
  }
  std::string owner = options_.owner;
  RETURN_IF_ERROR(reader.read(log_offset_, bounds.high, [&](const LogMessage& m) -> absl::Status {
    ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
    if (const auto* o = std::get_if<LogOwner>(&record)) owner = o->owner;
    return absl::OkStatus();
  }));
  if (owner != options_.owner) {
    return absl::AbortedError(
        fmt::format("another process ({}) has taken over the index log {}", owner, options_.index_log));
  }
  log_offset_ = bounds.high;
  return absl::OkStatus();
}

}  // namespace doppel::kafka
