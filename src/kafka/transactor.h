#pragma once
// Publishes batches one after the other, each exactly once, from the one process that owns the index log. It
// keeps a batch encoded until readers see it. If an answer of the broker is missing or may be wrong, it looks
// up what readers see (docs/adr/0017). The log itself decides who owns it (docs/adr/0018).

#include <atomic>
#include <functional>
#include <list>
#include <map>
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
  std::string owner;                   // a unique name for this process
  std::string owner_settings = {};     // LogOwner::settings
  std::set<std::string> outputs = {};  // the other topics that it writes
  // What the log covers up to offset `covers_to`. open() decides with it which hanging records to publish.
  Covers covers = [](const InputPlace&) { return false; };
  int64_t covers_to = 0;
};

class Transactor {
 public:
  // Claims the index log. When it returns, everything before log_offset() in the log is final, our owner
  // record is its last record, and readers see it. Waits for the broker until `stop` returns true. Aborted:
  // other processes keep claiming the log.
  static absl::StatusOr<std::unique_ptr<Transactor>> open(Cluster& cluster, const TransactorOptions& options,
                                                          std::function<bool()> stop);

  // From now on each transaction commits this group's offsets. They serve lag tools only.
  void send_offsets_to(std::string group) { producer_.send_offsets_as({std::move(group), {}}); }
  // From now on a withdrawn right makes calls wait for it. Before this call it is an error.
  void wait_for_rights(RightsWait::Missing missing) { rights_ = RightsWait(std::move(missing)); }
  void know_topic(const std::string& topic) { producer_.know_topic(topic); }
  void set_batch_bytes_max(int64_t bytes) { producer_.set_batch_bytes_max(bytes); }

  // Returns OK once the outbox is known to be committed exactly once. It keeps the contents and swaps an
  // older outbox into `outbox`, which the caller clears. ResourceExhausted: the messages with `refused` set
  // are larger than their topic accepts; commit a replacement and pass the refused outbox along, because
  // readers may see some of its messages already. Aborted: another process has taken over. Aborted and every
  // other error must stop the process.
  absl::Status commit(Outbox& outbox, const Outbox* refused = nullptr);
  // Call it regularly while there is nothing to commit: a batch that the broker forgot to mark as committed
  // would otherwise stay unseen until the next one. Does nothing unless a connection broke.
  absl::Status look_after();
  // Waits until readers see the last batch; sends it again if they do not. Call it before progress moves
  // back: after that, the next process would take hidden records of the batch for ones that were never
  // committed.
  absl::Status await_last();
  // Moves log_offset() behind the transaction markers at the end of the log, unless another process has
  // written there. Aborted: it has.
  absl::Status look_at_end();

  // How long broker quotas have throttled commits so far. Any thread.
  std::chrono::milliseconds throttled() const { return producer_.throttled(); }
  // The offset behind the last record that we committed to the index log.
  int64_t log_offset() const { return log_offset_; }

  struct Stats {
    std::atomic<uint64_t> commits{0};
    std::atomic<uint64_t> recoveries{0};   // the outcome of a transaction was unknown
    std::atomic<uint64_t> resent{0};       // a transaction was not committed and was sent again
    std::atomic<uint64_t> fenced{0};       // another process (or the broker's time-out) fenced us
    std::atomic<double> last_commit_s{0};  // duration of the last commit() with all its attempts
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
  absl::Status await_kafka(const std::function<absl::Status()>& ask) const;
  absl::Status note_what_hangs();
  absl::Status settle();
  absl::Status look_up_noted();
  absl::StatusOr<Covers> covers_up_to(int64_t end, const std::map<TopicPartition, LogProgress>& behind = {});

  absl::Status send(Outboxes outboxes);
  absl::Status log_is_lost(int64_t end) const;
  absl::Status commit_once(Outbox& outbox);
  absl::Status publish(Outboxes outboxes, absl::Status failed);
  absl::Status recover(Outboxes outboxes, bool& committed);
  absl::Status refused_for_good();
  absl::Status await_claim(Outboxes outboxes);
  absl::Status await_readers(Outboxes outboxes);
  absl::Status see_last();
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
  const TopicPartition log_;
  Producer producer_;
  std::function<bool()> stop_;
  Visibility visibility_;
  int64_t log_offset_ = 0;
  Outbox claim_;  // our owner record
  // The batches of the last transaction: one, or several if a failure made us send earlier ones again.
  std::list<Outbox> last_ = std::list<Outbox>(1);
  bool sent_again_ = false;       // the current transaction contains earlier batches, too
  bool must_send_found_ = false;  // an earlier attempt of claim() has touched the records that it found
  int64_t settled_from_ = 0;      // where the log ended for readers when settle() filled last_
  Outbox noted_;                  // records that hung, and were committed, before our producer was opened
  int64_t noted_from_ = 0;        // where the log ended for readers then
  int fenced_in_a_row_ = 0;
  RightsWait rights_{nullptr};
  absl::Status broken_;  // why the producer must be replaced before the next batch
  Stats stats_;
};

}  // namespace doppel::kafka
