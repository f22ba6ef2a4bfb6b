#include "serve/log_restorer.h"

#include <fmt/format.h>

#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kCommitRecords = 8192;  // applied between two commits of the state directory

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

absl::Status LogRestorer::restore(kafka::LogReader& log, int64_t end,
                                  const std::function<void(uint64_t)>& progress) {
  log_ = &log;
  end_ = end;
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
        if (++pending_ >= kCommitRecords) RETURN_IF_ERROR(flush());
        if (++records % 1024 == 0) progress(records);
        return absl::OkStatus();
      });
  RETURN_IF_ERROR(read);
  position_.log_offset = end;
  position_.covered_ms = kafka::now_ms();  // up to now there is nothing else
  RETURN_IF_ERROR(flush());
  progress(records);
  return engine_.restore_clock(position_.expire.lowest_live, position_.expire.clock);
}

absl::Status LogRestorer::apply(const kafka::LogMessage& m) {
  ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
  if (const auto* r = std::get_if<LogRow>(&record)) return row(*r);
  if (const auto* r = std::get_if<LogRemoved>(&record)) {
    if (r->seq < next_seq_) {
      engine_.restore_removed(r->seq, r->trusted_ms);
      removed_.push_back(r->seq);
    }
  } else if (auto* e = std::get_if<LogExpire>(&record)) {
    position_.expire = std::move(*e);
  } else if (auto* u = std::get_if<LogRule>(&record)) {
    rule_ = std::move(u->rule);
  } else if (auto* p = std::get_if<LogProgress>(&record)) {
    position_.progress[{p->topic, p->partition}] = std::move(*p);
  }
  return absl::OkStatus();
}

absl::Status LogRestorer::row(const LogRow& r) {
  if (r.seq < next_seq_) return absl::OkStatus();  // the state directory has it
  if (r.scheme != scheme_)
    return absl::FailedPreconditionError(
        "the record was made under another data scheme than this configuration's");
  const auto num_perm = static_cast<size_t>(engine_.options().scheme.num_perm);
  const size_t words = (engine_.options().rule.banding.bands + 31) / 32;
  if ((!r.slices.empty() && (r.slices.size() != num_perm || r.mask.size() != words)))
    return absl::DataLossError("the record's slices have another size than this index's");
  if (fresh_ && rows_restored_ == 0 && r.seq != 0) {
    // The head of the log was compacted away.
    RETURN_IF_ERROR(state_.start_at(r.seq));
    RETURN_IF_ERROR(engine_.start_restore(r.seq, r.seq, {}));
    next_seq_ = r.seq;
  }
  RETURN_IF_ERROR(fill_gap(r.seq));
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

// Numbers whose records were compacted away: removed, or dead for long.
absl::Status LogRestorer::fill_gap(Seq to) {
  while (next_seq_ < to) {
    if (!removed_later_) RETURN_IF_ERROR(find_removed(position_.log_offset));
    StoredRow dead{.seq = next_seq_, .removed = true};
    const auto marker = removed_later_->find(next_seq_);
    if (marker != removed_later_->end()) dead.trusted_ms = marker->second;
    const BandMask none((engine_.options().rule.banding.bands + 31) / 32, 0);
    dead.row.mask = none.data();
    RETURN_IF_ERROR(keep(dead, {}));
  }
  return absl::OkStatus();
}

absl::Status LogRestorer::find_removed(int64_t from) {
  removed_later_.emplace();
  ASSIGN_OR_RETURN(kafka::LogReader other, log_->again());
  return other.read(from, end_, [&](const kafka::LogMessage& m) -> absl::Status {
    if (!m.has_value || m.key.size() != sizeof(Seq) || m.value.empty() || m.value.front() != 'X')
      return absl::OkStatus();
    ASSIGN_OR_RETURN(LogRecord record, parse_log_record(m.key, m.value, m.has_value));
    if (const auto* r = std::get_if<LogRemoved>(&record)) removed_later_->emplace(r->seq, r->trusted_ms);
    return absl::OkStatus();
  });
}

// The engine takes it now, the state directory with the next flush: until then its slices and mask are kept
// here.
absl::Status LogRestorer::keep(const StoredRow& row, std::string_view slices) {
  engine_.restore(row);
  ++next_seq_;
  ++rows_restored_;
  rows_.push_back(row);
  slices_.emplace_back(slices);
  const size_t words = (engine_.options().rule.banding.bands + 31) / 32;
  masks_.emplace_back(row.row.mask, row.row.mask + words);
  return absl::OkStatus();
}

absl::Status LogRestorer::flush() {
  pending_ = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].row.slices = slices_[i].empty() ? nullptr : reinterpret_cast<const uint8_t*>(slices_[i].data());
    rows_[i].row.mask = masks_[i].data();
  }
  const Seq lowest = std::min(position_.expire.lowest_live, next_seq_);
  absl::Status status = state_.commit({.rows = std::move(rows_),
                                       .removed = std::move(removed_),
                                       .lowest_live = std::max(lowest, state_.recovered().lowest_live),
                                       .source_position = encode_position(position_),
                                       .clock = position_.expire.clock,
                                       .documents = documents_,
                                       .keep_from = std::min(position_.expire.announced, lowest)});
  rows_.clear();
  removed_.clear();
  slices_.clear();
  masks_.clear();
  return status;
}

}  // namespace doppel
