#pragma once
// One batch after the other, each published exactly once, by the one process that owns the index log. A batch
// stays encoded until readers see it. What they see is looked up wherever an answer of the broker is missing
// or may be wrong (docs/adr/0017). Who owns the log is decided by the log (docs/adr/0018).

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/outbox.h"
#include "kafka/producer.h"
#include "kafka/rescue.h"
#include "kafka/rights_wait.h"
#include "kafka/visibility.h"

namespace doppel::kafka {

struct TransactorOptions {
  ProducerOptions producer = {};
  std::string index_log;
  std::string owner;                   // of this process, unique
  std::set<std::string> outputs = {};  // the other topics that are written
  // What the log covers up to an offset. A start asks it of records that hang.
  Covers covers = [](const InputPlace&) { return false; };
  int64_t covers_to = 0;
};

class Transactor {
 public:
  // Claims the index log. When it returns, everything before log_offset() in the log is final, our owner
  // record is its last record, and readers see it. Waits for the broker as long as `stop` says no. Aborted:
  // other processes keep claiming it.
  static absl::StatusOr<std::unique_ptr<Transactor>> open(Cluster& cluster, const TransactorOptions& options,
                                                          std::function<bool()> stop);

  // For lag tools only: this group's offsets go with each transaction from now on.
  void send_offsets_to(std::string group) { producer_.send_offsets_as({std::move(group), {}}); }
  // From now on a right that is withdrawn is waited for; before, it is an error.
  void wait_for_rights(RightsWait::Missing missing) { rights_ = RightsWait(std::move(missing)); }
  void know_topic(const std::string& topic) { producer_.know_topic(topic); }
  void set_batch_bytes_max(int64_t bytes) { producer_.set_batch_bytes_max(bytes); }

  // Returns when the outbox is known to be committed, once, and keeps what it holds: the caller has an older
  // one then, to be cleared. ResourceExhausted: messages that are `refused` are
  // larger than their topic takes; commit another outbox in its place, with the `refused` one beside it: of
  // that, readers may see some already. Aborted: another process has taken over. Aborted and whatever else
  // comes must stop the process.
  absl::Status commit(Outbox& outbox, const Outbox* refused = nullptr);
  // To be called now and then while there is nothing to commit: a batch that the broker has forgotten to mark
  // as committed would stay unseen until the next one. Does nothing unless a connection broke.
  absl::Status look_after();
  // Behind our last record nothing was written: then log_offset() moves behind the markers at the end of the
  // log. Aborted: another process has taken over.
  absl::Status look_at_end();

  // Behind the last record of the index log that was committed here.
  int64_t log_offset() const { return log_offset_; }

  struct Stats {
    std::atomic<uint64_t> commits{0};
    std::atomic<uint64_t> recoveries{0};   // it was unknown whether a transaction is committed
    std::atomic<uint64_t> resent{0};       // it was not: aborted, and sent again
    std::atomic<uint64_t> fenced{0};       // another process (or the broker's time-out) took our place
    std::atomic<double> last_commit_s{0};  // how long the last commit took, all attempts together
  };
  const Stats& stats() const { return stats_; }

 private:
  using Outboxes = std::span<Outbox* const>;

  Transactor(Cluster& cluster, TransactorOptions options, std::function<bool()> stop)
      : cluster_(cluster),
        options_(std::move(options)),
        log_{options_.index_log, 0},
        producer_(cluster, options_.producer, stop),
        stop_(std::move(stop)),
        visibility_(cluster, options_.index_log) {}

  absl::Status claim();
  absl::Status try_claim();
  absl::Status settle();
  absl::StatusOr<Covers> covers_up_to(int64_t end);

  absl::Status commit_once(Outbox& outbox);
  absl::Status publish(Outboxes outboxes, absl::Status failed);
  absl::Status recover(Outboxes outboxes, bool& committed);
  absl::Status refused_for_good() const;
  absl::Status await_claim(Outboxes outboxes);
  absl::Status await_readers(Outboxes outboxes);
  absl::Status drop_what_hangs(const std::set<std::string>& topics);
  absl::Status refuse_foreign_records(Outboxes outboxes);
  absl::Status taken_over_by(const std::string& owner) const;
  absl::StatusOr<std::optional<std::string>> foreign_owner(int64_t from, int64_t to, Outboxes outboxes);
  absl::Status insist(const std::function<absl::Status()>& attempt);
  void learn_offsets(Outboxes outboxes);
  void keep(Outbox& outbox);
  std::vector<Outbox*> last_and(Outbox* next);

  Cluster& cluster_;
  TransactorOptions options_;
  const Place log_;
  Producer producer_;
  std::function<bool()> stop_;
  Visibility visibility_;
  int64_t log_offset_ = 0;
  Outbox claim_;  // our owner record
  // What the last transaction held: a batch, after a failure those before it too, if they were sent again.
  std::list<Outbox> last_ = std::list<Outbox>(1);
  bool sent_again_ = false;       // the transaction at hand holds more than its batch
  bool must_send_found_ = false;  // what a start has found: a transaction of ours has touched it
  int64_t settled_from_ = 0;      // the end of the log that readers saw when last_ was found by a start
  int fenced_in_a_row_ = 0;
  RightsWait rights_{nullptr};
  absl::Status broken_;  // why the producer must be replaced before the next batch
  Stats stats_;
};

}  // namespace doppel::kafka
