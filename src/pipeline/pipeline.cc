#include "pipeline/pipeline.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/faults.h"
#include "base/reason.h"
#include "base/status.h"
#include "pipeline/read_ahead.h"
#include "pipeline/sign_record.h"
#include "records/metadata.h"
#include "session/stages.h"

namespace doppel {
namespace {

constexpr size_t kFindGrain = 16;  // documents that a thread takes at a time

// A batch and the work on it.
struct BatchInProgress {
  Batch batch;
  Work work;
  BatchTimes times;
};

// Adds the time of its scope to a duration.
class Timed {
 public:
  explicit Timed(BatchTimes::Duration& sum) : sum_(sum) {}
  ~Timed() { sum_ += std::chrono::steady_clock::now() - start_; }

 private:
  BatchTimes::Duration& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void count(const BatchInProgress& current, Counters& counters) {
  counters.problems += current.batch.problems.size();
  counters.records += current.batch.records.size();
  counters.bytes += current.batch.bytes;
  counters.listings_capped += current.work.resolved.listings_capped;
  counters.prints_capped += current.work.resolved.prints_capped;
  for (size_t i = 0; i < current.batch.records.size(); ++i) {
    const Outcome& outcome = current.work.resolved.outcomes[i];
    const SignedDocument& document = current.work.sign.documents[i];
    const Reason reason = document.reason.empty() ? Reason::none : reason_of(document.reason);
    const bool bytes_only = is_bytes_only(reason);
    if (outcome.verdict == Verdict::unique || outcome.verdict == Verdict::duplicate) {
      counters.too_large += reason == Reason::too_large ? 1 : 0;
      counters.pages += document.page ? 1 : 0;
      if (!document.guessed_charset.empty()) ++counters.guessed_charsets[document.guessed_charset];
    }
    switch (outcome.verdict) {
      case Verdict::unique:
        if (bytes_only) ++counters.bytes_unique;
        ++counters.unique;
        if (outcome.again) ++counters.again;
        if (const std::optional<Relation> strongest = strongest_relation(outcome))
          ++counters.related[*strongest];
        break;
      case Verdict::duplicate:
        if (bytes_only) ++counters.bytes_copies;
        ++(outcome.kind == Kind::exact       ? counters.exact
           : outcome.kind == Kind::contained ? counters.partial
                                             : counters.near);
        counters.duplicate_bytes += current.batch.records[i].value.size();
        break;
      case Verdict::unscored:
        ++counters.unscored;
        if (!document.reason.empty()) ++counters.unscored_by[document.reason];
        break;
      case Verdict::rejected:
        ++counters.rejected;
        break;
      case Verdict::skipped:
        ++counters.skipped;
        ++counters.skipped_by[document.reason];
        break;
      case Verdict::removal:
        ++counters.removals;
        break;
    }
  }
}

// One run of a pipeline. There are three lanes for batches: while the commit of one batch runs, the next
// one is matched, and the one after that is signed.
class Run {
 public:
  explicit Run(Pipeline& p)
      : p_(p),
        stages_(p.engine, p.threads),
        reader_(p.source, stages_.threads() > 1 || p.source.in_background(), p.waker) {
    for (int i = 0; i < stages_.threads(); ++i) signers_.push_back(new_signer());
  }

  absl::StatusOr<Counters> run() {
    absl::Status status = stages();
    stages_.wait_for_sign();  // it uses the lanes
    if (!status.ok()) return status;
    return counters_;
  }

 private:
  RecordSigner new_signer() const {
    const EngineOptions& options = p_.engine.options();
    return {options.scheme, options.with_sets(), p_.format, p_.keys, p_.decoder ? p_.decoder() : nullptr};
  }

  // The stages in order.
  absl::Status stages() {
    RETURN_IF_ERROR(read_and_sign());
    while (more_) {
      RETURN_IF_ERROR(wait_for_sign());
      std::swap(now_, next_);
      const bool ready = reader_.ready();
      absl::Status read;
      if (ready) read = read_and_sign();  // the next batch: SIGN does not need the index
      const absl::Status matched = match();
      RETURN_IF_ERROR(settle());  // the previous batch, which is durable from here on
      RETURN_IF_ERROR(matched);
      RETURN_IF_ERROR(resolve());
      if (!ready || !read.ok()) RETURN_IF_ERROR(settle());
      if (!ready) read = read_and_sign();
      RETURN_IF_ERROR(read);
    }
    return settle();
  }

  // Reads a batch into next_, and starts to SIGN it on the workers.
  absl::Status read_and_sign() {
    more_ = false;
    if (p_.stop()) return absl::OkStatus();
    BatchInProgress& current = *next_;
    current.times = {};
    {
      const Timed timed(current.times.read);
      ASSIGN_OR_RETURN(more_, reader_.next(current.batch));
    }
    if (!more_) return absl::OkStatus();
    stages_.start_sign(current.work, current.batch.records.size(),
                       [this, &current](int worker, size_t i, SignedDocument& out, uint8_t* slices) {
                         signers_[worker].sign(current.batch.records[i], out, slices);
                       });
    return absl::OkStatus();
  }

  absl::Status wait_for_sign() {
    {
      const Timed timed(next_->times.sign);
      stages_.wait_for_sign();
    }
    if (saw_pages_ || !p_.before_pages) return absl::OkStatus();
    saw_pages_ = std::any_of(signers_.begin(), signers_.end(),
                             [](const RecordSigner& signer) { return signer.saw_pages(); });
    return saw_pages_ ? p_.before_pages() : absl::OkStatus();
  }

  // MATCH for a whole batch, on all threads.
  absl::Status match() {
    const Timed timed(now_->times.match);
    if (p_.answer_source != nullptr) RETURN_IF_ERROR(p_.answer_source->answer(now_->batch, now_->work));
    return stages_.match(now_->work, counters_.match);
  }

  absl::Status resolve() {
    if (p_.recall && !now_->batch.records.empty()) RETURN_IF_ERROR(p_.recall(now_->batch, now_->work));
    const bool requests = p_.requests(now_->work);
    if (now_->batch.records.empty() && now_->batch.problems.empty() && !requests) {
      p_.progress(counters_);
      return p_.sink.idle();
    }
    {
      const Timed timed(now_->times.resolve);
      RETURN_IF_ERROR(stages_.resolve(p_.engine, now_->work, help_));
    }
    if (p_.same_documents != nullptr) correct_same_documents();
    drop_repeats();
    if (p_.better) RETURN_IF_ERROR(p_.better->find(now_->work));
    find_bytes();
    check_decided();
    {
      const Timed timed(now_->times.write);
      RETURN_IF_ERROR(p_.sink.write({now_->batch, now_->work}));
    }
    std::swap(now_, settling_);
    unsettled_ = true;
    return absl::OkStatus();
  }

  void correct_same_documents() {
    for (size_t i = 0; i < now_->batch.records.size(); ++i)
      p_.same_documents->correct(now_->work.resolved.outcomes[i], now_->work.sign.documents[i].metadata);
  }

  // Skips a Kafka record that comes a second time, because it was signed twice, or because the input or the
  // index was moved, or because a client sent its document again. If it counted as a copy, a consumer that
  // deletes copies would delete the document.
  void drop_repeats() {
    if (mutated(Mutation::repeats_are_copies)) return;
    for (size_t i = 0; i < now_->batch.records.size(); ++i) {
      Outcome& outcome = now_->work.resolved.outcomes[i];
      SignedDocument& document = now_->work.sign.documents[i];
      if (outcome.verdict != Verdict::duplicate) continue;
      const bool exact = outcome.kind == Kind::exact;
      const bool sent_again =
          exact && came_by_http(now_->batch.records[i]) && is_same_name(outcome.original, document.metadata);
      if (!sent_again && !is_same_record(outcome.original, document.metadata, exact)) continue;
      outcome = {.verdict = Verdict::skipped, .original = outcome.original};
      document.reason = message_of(Reason::repeated);
    }
  }

  // Finds the passages in the bytes of their texts.
  void find_bytes() {
    std::vector<Outcome>& outcomes = now_->work.resolved.outcomes;
    related_.clear();
    for (size_t i = 0; i < outcomes.size(); ++i)
      if (!outcomes[i].related.empty()) related_.push_back(i);
    stages_.executor().run(related_.size(), kFindGrain, [&](int worker, size_t begin, size_t end) {
      for (const size_t i : std::span(related_).subspan(begin, end - begin))
        signers_[worker].find_bytes(now_->batch.records[i], outcomes[i]);
    });
  }

  // Checks what sinks and the index rely on.
  void check_decided() {
    const std::vector<Record>& records = now_->batch.records;
    const Resolved& resolved = now_->work.resolved;
    DOPPEL_CHECK(!unsettled_, "a batch is settled before the next one is written", records.size());
    DOPPEL_CHECK(resolved.outcomes.size() == records.size(), "every record has one verdict",
                 resolved.outcomes.size(), records.size());
    DOPPEL_CHECK(resolved.lowest_live >= lowest_live_, "the lowest live number never goes back",
                 resolved.lowest_live, lowest_live_);
    lowest_live_ = resolved.lowest_live;
    size_t row = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      const Outcome& outcome = resolved.outcomes[i];
      if (outcome.verdict == Verdict::unique && !outcome.again) {
        DOPPEL_CHECK(row < resolved.rows.size() && resolved.rows[row].seq == outcome.seq,
                     "each unique document has a row, in the order of the documents", i, outcome.seq, row,
                     resolved.rows.size());
        ++row;
      }
    }
    DOPPEL_CHECK(row == resolved.rows.size(), "there are as many new rows as unique documents", row,
                 resolved.rows.size());
  }

  // Called by RESOLVE for a document whose payload was known, so it was not read.
  absl::Status read_late(size_t i) {
    if (!p_.read_now) return absl::OkStatus();
    BatchInProgress& current = *now_;
    RETURN_IF_ERROR(p_.read_now(current.batch.records[i], current.batch.memory));
    if (!late_signer_) late_signer_.emplace(new_signer());
    const auto num_perm = static_cast<size_t>(p_.engine.options().scheme.num_perm);
    late_signer_->sign(current.batch.records[i], current.work.sign.documents[i],
                       current.work.sign.slices.data() + i * num_perm);
    return p_.engine.match(current.work, i, i + 1, counters_.match);
  }

  absl::Status settle() {
    if (!unsettled_) return absl::OkStatus();
    unsettled_ = false;
    BatchInProgress& current = *settling_;
    {
      const Timed timed(current.times.settle);
      RETURN_IF_ERROR(p_.sink.settle());
    }
    if (p_.journal != nullptr) {
      const Timed timed(current.times.commit);
      RETURN_IF_ERROR(p_.journal->commit(current.batch, current.work.resolved, p_.sink.position()));
    }
    count(current, counters_);
    const Counters& c = counters_;
    DOPPEL_CHECK(c.records == c.unique + c.duplicates() + c.unscored + c.rejected + c.skipped + c.removals,
                 "the counts of all verdicts add up to the records", c.records, c.unique, c.duplicates(),
                 c.unscored, c.rejected, c.skipped, c.removals);
    p_.observe({current.batch, current.work}, current.times);
    p_.progress(counters_);
    return absl::OkStatus();
  }

  Pipeline& p_;
  Stages stages_;
  ReadAhead reader_;
  std::vector<RecordSigner> signers_;
  std::optional<RecordSigner> late_signer_;  // for the thread that resolves
  std::array<BatchInProgress, 3> in_progress_;
  BatchInProgress* now_ = &in_progress_[0];
  BatchInProgress* next_ = &in_progress_[1];
  BatchInProgress* settling_ = &in_progress_[2];
  const ResolveHelp help_{.read = [this](size_t i) { return read_late(i); },
                          .again =
                              [this](size_t i, const Deaths& deaths, const RelateHint& hint) {
                                return p_.answer_source->answer_again(now_->batch, i, deaths, hint,
                                                                      now_->work);
                              }};
  bool more_ = false;       // next_ has a batch, and its signing has begun
  bool unsettled_ = false;  // settling_ has a batch
  bool saw_pages_ = false;
  std::vector<size_t> related_;  // documents of the batch
  Seq lowest_live_ = 0;          // of the last resolved batch
  Counters counters_;
};

}  // namespace

absl::StatusOr<Counters> run_pipeline(Pipeline& pipeline) { return Run(pipeline).run(); }

}  // namespace doppel
