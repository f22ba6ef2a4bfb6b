#include "kafka/log/restorer.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/faults.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kCommitRecords = 8192;  // records between two commits of the state directory

}  // namespace

LogRestorer::LogRestorer(StateDir& state, Engine& engine, uint64_t scheme, kafka::KafkaPosition& position,
                         uint64_t documents)
    : state_(state),
      engine_(engine),
      scheme_(scheme),
      position_(position),
      documents_(documents),
      next_seq_(state.recovered().next_seq),
      fresh_(state.recovered().fresh) {}

void LogRestorer::follow(int threads, CandidateIndex::Run run) {
  follows_ = true;
  help_.threads = threads;
  help_.run = std::move(run);
}

absl::Status LogRestorer::restore(kafka::LogReader& log, int64_t end,
                                  const std::function<void(uint64_t)>& progress) {
  log_ = &log;
  removed_later_.reset();
  uint64_t records = 0;
  const absl::Status read =
      log.read(position_.log_offset, end, [&](const kafka::LogMessage& m) -> absl::Status {
        absl::Status status = apply(m);
        if (!status.ok()) {
          return absl::Status(status.code(), absl_sv(fmt::format("{} at offset {}: {}", position_.index_log,
                                                                 m.offset, std_sv(status.message()))));
        }
        position_.log_offset = m.offset + 1;
        position_.covered_ms = m.timestamp_ms;
        // Where the numbers begin is unknown before the first row.
        const bool begun = !fresh_ || rows_restored_ != 0;
        if (++pending_ >= kCommitRecords && begun) RETURN_IF_ERROR(flush());
        if (++records % 1024 == 0) progress(records);
        return absl::OkStatus();
      });
  RETURN_IF_ERROR(read);
  RETURN_IF_ERROR(go_to(position_.expire.lowest_live));
  position_.log_offset = std::max(position_.log_offset, end);
  position_.covered_ms = Clock::unix_ms();  // the log has nothing newer
  RETURN_IF_ERROR(flush());
  progress(records);
  if (follows_) return absl::OkStatus();
  return engine_.restore_clock(position_.expire.lowest_live, position_.expire.clock);
}

absl::Status LogRestorer::apply(const kafka::LogMessage& m) {
  ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
  if (const auto* r = std::get_if<LogRow>(&record)) return row(*r);
  if (const auto* r = std::get_if<LogRemoved>(&record)) {
    if (r->seq >= next_seq_)  // the row was compacted away
      return mutated(Mutation::numbers_are_given_again) ? absl::OkStatus() : go_to(r->seq + 1);
    if (!follows_) engine_.restore_removed(r->seq, r->trusted_ms);
    removed_.push_back(r->seq);
  } else if (auto* shown = std::get_if<LogShown>(&record)) {
    // A cluster ends with its original. The original's row comes first, unless it was compacted away.
    if (!shown->copy.empty() && shown->seq < next_seq_ && engine_.has(shown->seq) &&
        !mutated(Mutation::better_copies_are_not_restored))
      shown_.push_back({shown->seq, std::move(shown->copy)});
  } else if (auto* e = std::get_if<LogExpire>(&record)) {
    // A batch that was sent again may follow a later one. The window never moves back.
    const LogExpire& now = position_.expire;
    if (e->lowest_live >= now.lowest_live && e->announced >= now.announced) position_.expire = std::move(*e);
  } else if (auto* u = std::get_if<LogRule>(&record)) {
    rule_ = std::move(u->rule);
  } else if (auto* cut = std::get_if<LogCut>(&record)) {
    position_.cut = std::move(*cut);
  } else if (auto* owner = std::get_if<LogOwner>(&record)) {
    position_.owner = std::move(owner->owner);
    position_.owner_settings = std::move(owner->settings);
  } else if (auto* epoch = std::get_if<LogEpoch>(&record)) {
    epoch_ = std::move(*epoch);
  } else if (auto* p = std::get_if<LogProgress>(&record)) {
    if (p->forgotten) {
      position_.progress.erase({p->topic, p->partition});
    } else {
      position_.progress[{p->topic, p->partition}] = std::move(*p);
    }
  }
  return absl::OkStatus();
}

absl::Status LogRestorer::row(const LogRow& r) {
  if (r.seq < next_seq_) return refuse_another(r);
  if (r.scheme != scheme_)
    return absl::FailedPreconditionError(
        "the record was made under another data scheme than this configuration's");
  const auto num_perm = static_cast<size_t>(engine_.options().scheme.num_perm);
  const auto words = static_cast<size_t>(engine_.options().rule.banding.mask_words());
  if ((!r.slices.empty() && (r.slices.size() != num_perm || r.mask.size() != words)))
    return absl::DataLossError("the record's slices have another size than this index's");
  RETURN_IF_ERROR(go_to(r.seq));
  if (!engine_.has(r.seq)) return keep_number(r.seq, r.trusted_ms);
  ASSIGN_OR_RETURN(const BodyRef body, state_.bodies().append(r.body));
  StoredRow stored{.seq = r.seq, .trusted_ms = r.trusted_ms};
  stored.row.digest = r.digest;
  stored.row.id_tag = r.id_tag;
  stored.row.payload = r.payload;
  stored.row.body = body;
  stored.row.slices = r.slices.empty() ? nullptr : reinterpret_cast<const uint8_t*>(r.slices.data());
  stored.row.mask = r.mask.data();
  return keep(stored, r.slices);
}

// Each number is given once. Two different rows with one number mean that two processes wrote at the same
// time, and then the log does not say which row is valid.
absl::Status LogRestorer::refuse_another(const LogRow& r) {
  StoredRow known;
  const Seq first_pending = next_seq_ - rows_.size();
  if (r.seq >= first_pending) {
    known = rows_[r.seq - first_pending];
  } else if (r.seq >= state_.recovered().first_row) {
    ASSIGN_OR_RETURN(known, state_.read_row(r.seq));
  } else {
    return absl::OkStatus();  // expired long ago
  }
  if ((known.removed || !engine_.has(r.seq)) && known.row.body.size == 0)
    return absl::OkStatus();  // only the number is known, so there is nothing to compare
  if (known.row.digest == r.digest && known.row.id_tag == r.id_tag) return absl::OkStatus();
  return absl::DataLossError(fmt::format(
      "the log holds original {} twice, with different contents: two processes wrote it at the same "
      "time. doppel rebuild --from documents makes a log that can be trusted",
      r.seq));
}

// Fills the numbers up to `to` whose rows did not come. These rows were compacted away, because the originals
// were removed or have expired. Their numbers are never given again.
absl::Status LogRestorer::go_to(Seq to) {
  if (fresh_ && rows_restored_ == 0 && to > next_seq_) {
    // This is the head of the log: numbers begin here.
    RETURN_IF_ERROR(state_.start_at(to));
    RETURN_IF_ERROR(engine_.start_restore(to, to, {}));
    next_seq_ = to;
  }
  while (next_seq_ < to) {
    if (!removed_later_) RETURN_IF_ERROR(find_removed(position_.log_offset));
    const auto marker = removed_later_->find(next_seq_);
    RETURN_IF_ERROR(keep_number(next_seq_, marker == removed_later_->end() ? kNoTime : marker->second));
  }
  return absl::OkStatus();
}

// Keeps the number of an original that is dead or whose content belongs to another process.
absl::Status LogRestorer::keep_number(Seq seq, int64_t trusted_ms) {
  StoredRow row{.seq = seq, .trusted_ms = trusted_ms, .removed = engine_.has(seq)};
  const BandMask none(static_cast<size_t>(engine_.options().rule.banding.mask_words()), 0);
  row.row.mask = none.data();
  return keep(row, {});
}

absl::Status LogRestorer::find_removed(int64_t from) {
  removed_later_.emplace();
  ASSIGN_OR_RETURN(kafka::LogReader other, log_->again());
  // A row may be gone whose marker was written after the end of this restore.
  ASSIGN_OR_RETURN(const kafka::Watermarks bounds, other.bounds());
  return other.read(from, bounds.high, [&](const kafka::LogMessage& m) -> absl::Status {
    if (!m.has_value || m.key.size() != sizeof(Seq) || m.value.empty() || m.value.front() != 'X')
      return absl::OkStatus();
    ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
    if (const auto* r = std::get_if<LogRemoved>(&record)) removed_later_->emplace(r->seq, r->trusted_ms);
    return absl::OkStatus();
  });
}

// Gives the row to the engine now and to the state directory with the next flush. Until then slices and mask
// are kept here.
absl::Status LogRestorer::keep(const StoredRow& row, std::string_view slices) {
  if (!follows_) RETURN_IF_ERROR(engine_.restore(row));
  ++next_seq_;
  ++rows_restored_;
  rows_.push_back(row);
  slices_.emplace_back(slices);
  const auto words = static_cast<size_t>(engine_.options().rule.banding.mask_words());
  masks_.emplace_back(row.row.mask, row.row.mask + words);
  return absl::OkStatus();
}

// Adds the rows to an engine whose tables are built.
absl::Status LogRestorer::apply_rows(Seq lowest_live) {
  Resolved decided;
  decided.rows = rows_;
  for (const Seq seq : removed_) decided.removed.push_back({seq, RemovalReason::removed});
  decided.lowest_live = lowest_live;
  return engine_.follow(decided, help_);
}

absl::Status LogRestorer::flush() {
  pending_ = 0;
  fresh_ = false;
  DOPPEL_CHECK(rows_.size() == slices_.size() && rows_.size() == masks_.size(),
               "each row is kept with its slices and its mask", rows_.size(), slices_.size(), masks_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].row.slices = slices_[i].empty() ? nullptr : reinterpret_cast<const uint8_t*>(slices_[i].data());
    rows_[i].row.mask = masks_[i].data();
  }
  const Seq lowest = std::min(position_.expire.lowest_live, next_seq_);
  if (follows_) RETURN_IF_ERROR(apply_rows(lowest));
  absl::Status status = state_.commit({.rows = std::move(rows_),
                                       .removed = std::move(removed_),
                                       .shown = std::move(shown_),
                                       .lowest_live = std::max(lowest, state_.recovered().lowest_live),
                                       .source_position = encode_position(position_),
                                       .clock = position_.expire.clock,
                                       .documents = documents_,
                                       .keep_from = std::min(position_.expire.announced, lowest)});
  rows_.clear();
  removed_.clear();
  shown_.clear();
  slices_.clear();
  masks_.clear();
  return status;
}

}  // namespace doppel
