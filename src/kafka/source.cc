#include "kafka/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/mutation.h"
#include "base/status.h"
#include "kafka/group_note.h"

namespace doppel::kafka {
namespace {

constexpr int kAskGroupMs = 2'000;
constexpr int kGrowMs = 2;                 // how often a batch past its linger time asks whether it is wanted
constexpr size_t kChunk = 256;             // records per poll
constexpr size_t kBatchesAtOnce = 8;       // read before their topics are compared
constexpr size_t kBytesAtOnce = 36 << 20;  // the same; at least one batch
constexpr std::chrono::milliseconds kPause(200);  // before the broker is asked again
constexpr std::chrono::seconds kLookForMissing(1);
constexpr std::chrono::seconds kFollow(2);  // statistics come once a second
constexpr std::chrono::minutes kSayAgain(1);
constexpr std::chrono::seconds kDeleted(30);  // after this time a topic that disappeared counts as deleted

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaSource>> KafkaSource::open(Cluster& cluster,
                                                               const KafkaSourceOptions& options,
                                                               const std::vector<LogProgress>& progress) {
  std::unique_ptr<KafkaSource> source(new KafkaSource(cluster, options));
  for (const LogProgress& p : progress) source->progress_[{p.topic, p.partition}] = p;
  ASSIGN_OR_RETURN(source->witness_, Witness::open(cluster));
  RETURN_IF_ERROR(source->open_consumer());
  bool said = false;
  while (true) {
    absl::Status looked = source->look(true);
    if (looked.ok()) break;
    if (!absl::IsUnavailable(looked)) return looked;
    if (options.stop()) return absl::CancelledError("stopped while waiting for Kafka");
    if (!said) log::warn("waiting for the input topics", {{"says", std_sv(looked.message())}});
    said = true;
    Clock::sleep(kPause);
  }
  source->report_other_offsets(progress);
  return source;
}

KafkaSource::~KafkaSource() {
  statistics_->ask_ends({});
  release();
}

// ---- partitions and their start positions

absl::Status KafkaSource::look(bool first) {
  looked_ = Clock::now();
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> found, find_topics(cluster_, options_.topics));
  RETURN_IF_ERROR(say_missing(found));
  std::vector<Partition> added;
  for (const TopicPartitions& topic : found) {
    for (const int32_t partition : topic.partitions) {
      const Place where{topic.topic, partition};
      if (tags_.contains(where) || (options_.only && !options_.only->contains(where))) continue;
      absl::StatusOr<Partition> placed = place(where, first);
      // The partition has no leader yet, or the broker does not know it.
      if (!first && (absl::IsUnavailable(placed.status()) || absl::IsNotFound(placed.status()))) continue;
      if (absl::IsNotFound(placed.status())) return absl::UnavailableError(placed.status().message());
      RETURN_IF_ERROR(placed.status());
      added.push_back(*std::move(placed));
    }
  }
  if (added.empty()) return absl::OkStatus();
  const size_t first_tag = partitions_.size();
  std::set<Topic*> read_before;
  for (Partition& p : added) {
    if (progress_.contains(p.place)) read_before.insert(p.topic);
    partitions_.push_back(std::move(p));
  }
  for (Topic* topic : read_before) {
    const absl::Status looked = look_at_topic(*topic);
    if (looked.ok()) continue;
    partitions_.resize(first_tag);
    return absl::IsNotFound(looked) ? absl::UnavailableError(looked.message()) : looked;
  }
  for (size_t tag = first_tag; tag < partitions_.size(); ++tag) {
    const Partition& p = partitions_[tag];
    tags_.emplace(p.place, static_cast<uint32_t>(tag));
    if (p.last && !p.topic->last) p.topic->last = static_cast<uint32_t>(tag);
    const auto known = progress_.find(p.place);
    if (first && !p.gone && (known == progress_.end() || known->second.incarnation != p.topic->incarnation)) {
      beginnings_.push_back({.topic = p.place.topic,
                             .partition = p.place.partition,
                             .next = p.next,
                             .incarnation = p.topic->incarnation});
    }
    if (!first)
      log::info("a new partition",
                {{"topic", p.place.topic}, {"partition", p.place.partition}, {"from", p.next}});
  }
  RETURN_IF_ERROR(assign(first_tag, partitions_.size()));
  assigned_ = partitions_.size();
  return absl::OkStatus();
}

absl::Status KafkaSource::assign(size_t from, size_t to) {
  std::vector<Consumer::Assignment> more;
  for (size_t tag = from; tag < to; ++tag) {
    const Partition& p = partitions_[tag];
    if (!p.gone) more.push_back({.place = p.place, .from = p.next, .tag = static_cast<uint32_t>(tag)});
  }
  return consumer_->assign(more);
}

// Logs topics that are configured by name but do not exist: they may be created later. A topic that existed
// before may disappear for a moment; if it does not come back, it was deleted.
absl::Status KafkaSource::say_missing(const std::vector<TopicPartitions>& found) {
  for (const std::string& name : options_.topics.names) {
    if (name.starts_with('^')) continue;
    if (std::any_of(found.begin(), found.end(), [&](const auto& t) { return t.topic == name; })) {
      missing_.erase(name);
      continue;
    }
    doubt_topics();
    const auto now = Clock::now();
    const auto [it, fresh] = missing_.try_emplace(name, Missing{now, now});
    const bool was_there = topics_.contains(name);
    if (was_there && now - it->second.since > kDeleted &&
        !waits_for_right(cluster_.topic_configs(name, {}).status())) {
      return absl::FailedPreconditionError(fmt::format(
          "the input topic {} has been deleted: no broker has known it for {} s", name, kDeleted.count()));
    }
    if (!fresh && now - it->second.said < kSayAgain) continue;
    it->second.said = now;
    log::warn(was_there ? "an input topic has disappeared; waiting for it"
                        : "an input topic does not exist or is not accessible; waiting for it",
              {{"topic", name}});
  }
  if (found.empty() && missing_.empty() && partitions_.empty() && !said_none_)
    log::warn("no topic matches yet", {{"topics", absl::StrJoin(options_.topics.names, " ")}});
  said_none_ = true;
  return absl::OkStatus();
}

bool KafkaSource::topic_has_progress(const std::string& topic) const {
  return std::any_of(progress_.begin(), progress_.end(),
                     [&](const auto& p) { return p.first.topic == topic; });
}

absl::StatusOr<KafkaSource::Partition> KafkaSource::place(const Place& where, bool first) {
  ASSIGN_OR_RETURN(const Watermarks marks, cluster_.watermarks(where, Isolation::committed));
  std::unique_ptr<Topic>& topic = topics_[where.topic];
  if (topic == nullptr) {
    topic = std::make_unique<Topic>(Topic{.name = where.topic});
    for (const auto& [place, p] : progress_)
      if (place.topic == where.topic) topic->incarnation = std::max(topic->incarnation, p.incarnation);
  }
  Partition out{.place = where, .topic = topic.get()};
  const auto known = !first && mutated(Mutation::progress_of_late_topics_is_ignored) ? progress_.end()
                                                                                     : progress_.find(where);
  if (known == progress_.end() || known->second.incarnation < topic->incarnation) {
    // A partition that was added to a topic later is read from its beginning, whatever kafka.start says.
    const bool latest = first && options_.from_latest && !topic_has_progress(where.topic);
    out.next = latest ? marks.high : marks.low;
    return out;
  }
  const LogProgress& progress = known->second;
  out.next = progress.next;
  if (progress.last_ms >= 0 && out.next > marks.low)
    out.last = LastRead{.place = where, .offset = out.next - 1, .timestamp_ms = progress.last_ms};
  if (out.next < marks.low) RETURN_IF_ERROR(skip_lost(out, marks));
  return out;  // look_at_topic() finds out whether the partition ends before out.next
}

// Handles records that were deleted before they were read.
absl::Status KafkaSource::skip_lost(Partition& p, const Watermarks& marks) {
  const std::string message =
      fmt::format("{}/{} begins at offset {}, but it was read only up to {}: {} records were deleted unread",
                  p.place.topic, p.place.partition, marks.low, p.next, marks.low - p.next);
  if (!options_.continue_after_loss)
    return absl::FailedPreconditionError(message +
                                         "; to continue without them, set kafka.on_data_loss: continue");
  log::error("input is lost", {{"says", message}});
  p.next = marks.low;
  return absl::OkStatus();
}

// The group's offsets have no effect. If they differ, somebody moved them and may expect one. A broker does
// not return offsets whose transaction it has not marked as committed; this does not wait for them.
void KafkaSource::report_other_offsets(const std::vector<LogProgress>& progress) {
  if (progress.empty() || !options_.compare_offsets) return;
  std::vector<Place> places;
  places.reserve(progress.size());
  for (const LogProgress& p : progress) places.push_back({p.topic, p.partition});
  const absl::StatusOr<std::vector<GroupOffset>> offsets = consumer_->group_offsets(places, kAskGroupMs);
  if (!offsets.ok()) return;
  for (size_t i = 0; i < places.size(); ++i) {
    const GroupOffset& group = (*offsets)[i];
    if (group.offset == progress[i].next) continue;
    // The offset may lie behind transaction markers (follow_markers()); the note has the progress.
    const std::optional<LogProgress> noted = parse_group_note(group.note);
    if (noted && noted->next == progress[i].next && noted->incarnation == progress[i].incarnation) continue;
    log::warn("the group's offset differs from the index log; it is ignored",
              {{"topic", progress[i].topic},
               {"partition", progress[i].partition},
               {"group_offset", group.offset},
               {"index_log", progress[i].next}});
  }
}

// ---- a batch

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
  const auto every = missing_.empty() ? std::chrono::milliseconds(options_.metadata_ms)
                                      : std::chrono::milliseconds(kLookForMissing);
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
  std::vector<std::pair<Place, GroupOffset>> to;
  for (const ConsumerStatistics::Partition& known : statistics_->get().partitions) {
    const auto tag = tags_.find(Place{known.topic, known.partition});
    if (tag == tags_.end()) continue;
    Partition& p = partitions_[tag->second];
    const bool all_read = known.queued == 0 && known.end >= 0 && known.fetched >= known.end;
    if (!all_read || known.fetched <= p.next || known.fetched == p.group_at || !p.last ||
        p.last->offset + 1 != p.next)
      continue;
    p.group_at = known.fetched;
    to.emplace_back(p.place, GroupOffset{known.fetched, group_note({.next = p.next,
                                                                    .incarnation = p.topic->incarnation,
                                                                    .last_ms = p.last->timestamp_ms})});
  }
  if (!to.empty()) consumer_->move_group(to);
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
  gathered_.push_back(
      {record, &partition.topic->name, partition.place.partition, partition.topic->incarnation});
  gathered_bytes_ += record.bytes();
}

absl::Status KafkaSource::source_error(const absl::Status& failed) {
  if (absl::IsOutOfRange(failed)) {  // the consumer reports it only once; explain_loss() handles it
    lost_ = failed;
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
// time.
void KafkaSource::hand_over(Batch& batch) {
  const size_t records = batch_records(), limit = batch_bytes();
  const size_t bytes = ready_bytes_ <= limit + limit / 8 ? ready_bytes_ : limit;
  std::vector<Gathered> next;
  for (size_t taken = 0; handed_ < ready_.size() && next.size() < records && taken < bytes; ++handed_) {
    next.push_back(ready_[handed_]);
    taken += ready_[handed_].record.bytes();
    ready_bytes_ -= ready_[handed_].record.bytes();
  }
  std::sort(next.begin(), next.end(), [](const Gathered& a, const Gathered& b) {
    const int names = a.topic == b.topic ? 0 : a.topic->compare(*b.topic);
    return names != 0 ? names < 0
                      : std::tie(a.partition, a.record.offset) < std::tie(b.partition, b.record.offset);
  });
  for (size_t i = 0; i < next.size(); ++i) {
    const Gathered& g = next[i];
    if (i + 1 == next.size() || next[i + 1].topic != g.topic || next[i + 1].partition != g.partition) {
      statistics_->handed_over(*g.topic, g.partition, g.record.offset + 1);
      Partition& partition = partitions_[g.record.tag];
      partition.topic->last = g.record.tag;
      partition.last = LastRead{.place = partition.place,
                                .offset = g.record.offset,
                                .timestamp_ms = g.record.timestamp_ms,
                                .checksum = checksum_of(g.record)};
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
