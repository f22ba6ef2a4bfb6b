#include "memory_stream.h"

#include <deque>

#include "base/status.h"
#include "fmt/format.h"
#include "records/metadata.h"

namespace doppel::python {

absl::Status DocumentsDecoder::decode(const Record& record, Document& out) {
  out = {};
  out.text = record.value;
  if (documents_.times_ms.empty()) return absl::OkStatus();
  const int64_t time = documents_.times_ms[record.offset - documents_.first_number];
  if (time != kNoTime) out.timestamp_ms = time;
  return absl::OkStatus();
}

absl::StatusOr<bool> DocumentsSource::next(Batch& batch) {
  batch = {};
  const size_t size = documents_.texts.size();
  if (at_ == size) return false;
  auto names = std::make_shared<std::deque<std::string>>();
  const auto name = [&](uint64_t number) {
    return documents_.rows ? fmt::format("{}/{}", documents_.source, number) : std::to_string(number);
  };
  for (; at_ < size && batch.records.size() < kBatchDocuments && batch.bytes < kBatchBytes; ++at_) {
    Record& record = batch.records.emplace_back();
    record.value = documents_.texts[at_];
    record.source = documents_.source;
    record.offset = documents_.first_number + at_;
    record.key = documents_.ids.empty() ? std::string_view(names->emplace_back(name(record.offset)))
                                        : documents_.ids[at_];
    batch.bytes += record.value.size();
  }
  if (documents_.pass != nullptr) batch.position = documents_.pass->position(documents_.first_number + at_);
  batch.memory.push_back(std::move(names));
  return true;
}

absl::StatusOr<bool> RemovalsSource::next(Batch& batch) {
  batch = {};
  if (at_ == ids_.size()) return false;
  for (; at_ < ids_.size() && batch.records.size() < kBatchDocuments; ++at_) {
    Record& record = batch.records.emplace_back();
    record.null_value = true;
    record.key = ids_[at_];
    record.source = kSourceName;
    record.offset = first_number_ + at_;
  }
  return true;
}

absl::Status ColumnsSink::write(const Decided& decided) {
  removed_ += decided.work.resolved.removed.size();
  const size_t before = verdicts_.size();
  for (size_t i = 0; i < decided.batch.records.size(); ++i) {
    Outcome outcome = decided.work.resolved.outcomes[i];
    if (outcome.verdict == Verdict::removal) continue;
    // The number is the same in each run, however many originals of other indexes there are.
    constexpr Seq kOthers = Seq{1} << 59;
    outcome.seq = outcome.seq < first_own_ ? kOthers + outcome.seq : outcome.seq - first_own_;
    std::string original_name;
    if (outcome.verdict == Verdict::duplicate) {
      Metadata original;
      RETURN_IF_ERROR(decode_metadata(outcome.original, original));
      original_name = original.name();
    }
    Metadata document;
    RETURN_IF_ERROR(decode_metadata(decided.work.sign.documents[i].metadata, document));
    RETURN_IF_ERROR(verdicts_.add(document.name(), outcome, original_name));
  }
  if (handed_ == nullptr || verdicts_.size() == before) return absl::OkStatus();
  return handed_->add(pass_->mark(), decided.batch.records.front().offset, verdicts_,
                      verdicts_.size() - before);
}

}  // namespace doppel::python
