#include "kafka/source.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "kafka/same_topic.h"

namespace doppel::kafka {
namespace {

constexpr int kGrowMs = 2;                 // how often a batch past its linger time asks whether it is wanted
constexpr size_t kChunk = 256;             // records per poll
constexpr size_t kBatchesAtOnce = 8;       // read before their topics are compared
constexpr size_t kBytesAtOnce = 36 << 20;  // the same; at least one batch
constexpr std::chrono::milliseconds kPause(200);  // before the broker is asked again
constexpr std::chrono::seconds kLookForMissing(1);
constexpr std::chrono::seconds kFollow(2);  // statistics come once a second
constexpr std::chrono::seconds kAskHeldUp(2);

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaSource>> KafkaSource::open(Cluster& cluster,
                                                               const KafkaSourceOptions& options,
                                                               const std::vector<LogProgress>& progress) {
  std::unique_ptr<KafkaSource> source(new KafkaSource(cluster, options));
  for (const LogProgress& p : progress) source->progress_[{p.topic, p.partition}] = p;
  ASSIGN_OR_RETURN(source->comparer_, TopicComparer::open(cluster));
  RETURN_IF_ERROR(source->open_consumer());
  bool warned = false;
  while (true) {
    absl::Status looked = source->look(true);
    if (looked.ok()) break;
    if (!absl::IsUnavailable(looked)) return looked;
    if (options.stop()) return absl::CancelledError("stopped while waiting for Kafka");
    if (!warned) log::warn("waiting for the input topics", {{"says", std_sv(looked.message())}});
    warned = true;
    Clock::sleep(kPause);
  }
  source->report_other_offsets(progress);
  return source;
}

KafkaSource::~KafkaSource() {
  statistics_->ask_ends({});
  release();
}

absl::StatusOr<bool> KafkaSource::next(Batch& batch) {
  batch = {};
  if (handed_ == ready_.size()) RETURN_IF_ERROR(read());
  hand_over(batch);
  return true;
}

// Fills ready_, unless nothing comes or the topics do not answer.
absl::Status KafkaSource::read() {
  ready_.clear();
  handed_ = 0;
  const bool waits = !missing_.empty() || waits_since_;
  const auto every =
      waits ? std::chrono::milliseconds(kLookForMissing) : std::chrono::milliseconds(options_.metadata_ms);
  if (Clock::now() - looked_ > every) {
    const absl::Status looked = look(false);
    if (!absl::IsUnavailable(looked) && !waits_for_right(looked)) RETURN_IF_ERROR(looked);  // else try later
  }
  absl::Status status = gather();
  if (status.ok()) status = explain_loss();
  if (status.ok()) status = compare_topics();
  if (!denied_.ok() && !rights_.still(denied_)) denied_ = absl::OkStatus();
  if (waits_for_right(status)) status = absl::UnavailableError(status.message());
  if (absl::IsUnavailable(status) || absl::IsNotFound(status))
    status = wait_for_topics(status);
  else
    waits_since_.reset();
  if (!status.ok()) {
    release();
    return status;
  }
  if (waits_since_) return absl::OkStatus();
  say_held_up();
  if (gathered_.empty()) follow_markers();
  ready_.swap(gathered_);
  ready_bytes_ = std::exchange(gathered_bytes_, 0);
  return absl::OkStatus();
}

// A marker follows the last record of a transaction. Once everything is read, the group's offset moves behind
// it, so that lag tools show no lag.
void KafkaSource::follow_markers() {
  const auto now = Clock::now();
  if (!options_.moves_group || now - followed_ < kFollow) return;
  followed_ = now;
  std::vector<std::pair<TopicPartition, GroupOffset>> to;
  std::vector<LastRead> last;
  for (const ConsumerStatistics::Partition& known : statistics_->get().partitions) {
    const auto tag = tags_.find(TopicPartition{known.topic, known.partition});
    if (tag == tags_.end()) continue;
    const Partition& p = partitions_[tag->second];
    const bool all_read = known.queued == 0 && known.end >= 0 && known.fetched >= known.end;
    if (!all_read || known.fetched <= p.next || known.fetched == p.group_at || !p.last ||
        p.last->offset + 1 != p.next)
      continue;
    last.push_back(*p.last);
    to.emplace_back(p.place, GroupOffset{known.fetched, group_note({.next = p.next,
                                                                    .incarnation = p.topic->incarnation,
                                                                    .last_ms = p.last->timestamp_ms})});
  }
  if (to.empty()) return;
  // An offset of a topic that was created again meanwhile would tell that the topic was not deleted.
  const absl::StatusOr<std::vector<Found>> found = comparer_->compare(last);
  if (!found.ok()) return;
  for (size_t i = to.size(); i-- > 0;) {
    if ((*found)[i] == Found::same)
      partitions_[tags_.at(to[i].first)].group_at = to[i].second.offset;
    else
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!to.empty()) consumer_->move_group(to);
}

// Logs transactions that are open for long: nothing else shows why documents are not judged.
void KafkaSource::say_held_up() {
  const auto now = Clock::now();
  if (now - asked_held_up_ < kAskHeldUp) return;
  asked_held_up_ = now;
  for (const TopicPartition& place : held_up_.look(statistics_->get(), now)) {
    const auto open = open_transaction(cluster_, place);
    if (open.ok() && *open)
      log::warn((*open)->text(), {{"topic", place.topic}, {"partition", place.partition}});
  }
}

size_t KafkaSource::batch_records() const {
  return options_.pace != nullptr ? options_.pace->records() : options_.batch_records;
}
size_t KafkaSource::batch_bytes() const {
  return options_.pace != nullptr ? options_.pace->bytes() : options_.batch_bytes;
}

// Gathers one batch, or several while records are available: all of them are compared with their topics at
// once.
absl::Status KafkaSource::gather() {
  Clock::time_point deadline;
  const size_t batch = batch_records(), bytes = batch_bytes();
  while (gathered_.size() < kBatchesAtOnce * batch &&
         (gathered_bytes_ < bytes || gathered_bytes_ < kBytesAtOnce)) {
    const bool any = !gathered_.empty(), full = gathered_.size() >= batch || gathered_bytes_ >= bytes;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const bool over = any && left <= 0;
    if (over && !full && (!wanted_ || wanted_())) break;
    // Poll for one record first: the linger time begins with it.
    const size_t wanted = any ? std::min(kChunk, kBatchesAtOnce * batch - gathered_.size()) : 1;
    const int wait_ms = full ? 0 : over ? kGrowMs : any ? static_cast<int>(left) : options_.idle_ms;
    const size_t before = gathered_.size();
    chunk_.clear();
    const absl::Status polled = consumer_->poll(wanted, wait_ms, chunk_);
    for (const Incoming& record : chunk_) take(record);
    if (!polled.ok()) RETURN_IF_ERROR(source_error(polled));
    if (gathered_.empty() || (full && gathered_.size() == before)) break;
    if (!any) deadline = Clock::now() + std::chrono::milliseconds(options_.linger_ms);
  }
  return absl::OkStatus();
}

void KafkaSource::take(const Incoming& record) {
  Partition& partition = partitions_[record.tag];
  if (record.offset < partition.next) {  // fetched in the same chunk, but already read
    consumer_->release({&record, 1});
    return;
  }
  partition.next = record.offset + 1;
  const Topic& topic = *partition.topic;
  gathered_.push_back({.record = record,
                       .topic = &topic.name,
                       .partition = partition.place.partition,
                       .incarnation = topic.incarnation,
                       .moved = topic.moved});
  gathered_bytes_ += record.bytes();
}

absl::Status KafkaSource::source_error(const absl::Status& failed) {
  if (absl::IsOutOfRange(failed)) {  // the consumer reports it only once; explain_loss() handles it
    lost_ = failed;
    log::warn("an input partition does not go on where it was read to; finding out why",
              {{"says", std_sv(failed.message())}});
    return absl::OkStatus();
  }
  if (absl::IsUnavailable(failed)) {  // the consumer recovers by itself
    log::warn("input waits for the broker", {{"says", std_sv(failed.message())}});
    return absl::OkStatus();
  }
  if (waits_for_right(failed)) return absl::OkStatus();
  if (absl::IsNotFound(failed)) {  // look() decides whether the topic was deleted, and logs it
    doubt_topics();
    if (missing_.empty()) looked_ = Clock::time_point();
    return absl::OkStatus();
  }
  return failed;
}

bool KafkaSource::waits_for_right(const absl::Status& status) {
  if (!absl::IsPermissionDenied(status) || !rights_.waits()) return false;
  denied_ = status;
  return true;
}

// Hands over the next batch of ready_. A small rest goes into the last batch, because each transaction takes
// time. Records may have no bytes; where only such ones are left, bytes limit nothing.
void KafkaSource::hand_over(Batch& batch) {
  const size_t records = batch_records(), limit = batch_bytes();
  const size_t bytes = ready_bytes_ <= limit + limit / 8 ? ready_bytes_ : limit;
  std::vector<Gathered> next;
  for (size_t taken = 0; handed_ < ready_.size() && next.size() < records; ++handed_) {
    if (taken >= bytes && ready_bytes_ != 0) break;
    next.push_back(ready_[handed_]);
    next.back().topic_id = partitions_[next.back().record.tag].topic->id;
    taken += ready_[handed_].record.bytes();
    ready_bytes_ -= ready_[handed_].record.bytes();
  }
  std::sort(next.begin(), next.end(), [](const Gathered& a, const Gathered& b) {
    const int names = a.topic == b.topic ? 0 : a.topic->compare(*b.topic);
    return names != 0 ? names < 0
                      : std::tie(a.partition, a.record.offset) < std::tie(b.partition, b.record.offset);
  });
  for (size_t i = 0, begin = 0; i < next.size(); ++i) {
    const Gathered& g = next[i];
    if (i + 1 == next.size() || next[i + 1].topic != g.topic || next[i + 1].partition != g.partition) {
      statistics_->handed_over(*g.topic, g.partition, g.record.offset + 1);
      Partition& partition = partitions_[g.record.tag];
      partition.judged = g.record.offset + 1;
      partition.topic->last = g.record.tag;
      partition.last = LastRead{.place = partition.place,
                                .offset = g.record.offset,
                                .timestamp_ms = g.record.timestamp_ms,
                                .checksum = checksum_of(g.record)};
      partition.read = true;
      add_samples(partition.samples, i + 1 - begin, [from = &next[begin]](size_t n) {
        return LogProgress::Sample{from[n].record.offset, from[n].record.timestamp_ms,
                                   checksum_of(from[n].record)};
      });
      partition.topic->written_ms = Clock::unix_ms();
      begin = i + 1;
    }
  }
  copy_records(*consumer_, next, pool_, batch);
  bytes_read_ += batch.bytes;
  for (const Gathered& g : next) consumer_->release({&g.record, 1});
}

void KafkaSource::release() {
  for (const Gathered& g : gathered_) consumer_->release({&g.record, 1});
  for (; handed_ < ready_.size(); ++handed_) consumer_->release({&ready_[handed_].record, 1});
  gathered_.clear();
  gathered_bytes_ = 0;
}

}  // namespace doppel::kafka
