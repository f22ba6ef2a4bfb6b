#include "stream/kafka/kafka_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/mutation.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr int kAskGroupMs = 2'000;
constexpr int kGrowMs = 2;      // how often a batch whose time is over asks whether it is wanted
constexpr size_t kChunk = 256;  // taken from the consumer at once
constexpr std::chrono::milliseconds kPause(200);  // before the broker is asked again
constexpr std::chrono::seconds kLookForMissing(1);
constexpr std::chrono::minutes kSayAgain(1);
constexpr std::chrono::seconds kDeleted(
    30);  // a topic that had partitions, and that no broker knows any more

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaSource>> KafkaSource::open(Cluster& cluster,
                                                               const KafkaSourceOptions& options,
                                                               const std::vector<LogProgress>& progress) {
  std::unique_ptr<KafkaSource> source(new KafkaSource(cluster, options));
  for (const LogProgress& p : progress) source->progress_[{p.topic, p.partition}] = p;
  ASSIGN_OR_RETURN(source->consumer_, cluster.consumer({.group = options.group,
                                                        .queue_bytes = options.queue_bytes,
                                                        .statistics = source->statistics_.get()}));
  source->statistics_->ask_ends(
      [consumer = source->consumer_.get()](const std::string& topic, int32_t partition) {
        return consumer->known_end({topic, partition});
      });
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

// ---- which partitions, and from where

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
      // Its leader is not there yet, or not known.
      if (!first && (absl::IsUnavailable(placed.status()) || absl::IsNotFound(placed.status()))) continue;
      if (absl::IsNotFound(placed.status())) return absl::UnavailableError(placed.status().message());
      RETURN_IF_ERROR(placed.status());
      added.push_back(*std::move(placed));
    }
  }
  if (added.empty()) return absl::OkStatus();
  std::vector<Consumer::Assignment> more;
  for (Partition& p : added) {
    const auto tag = static_cast<uint32_t>(partitions_.size());
    more.push_back({.place = p.place, .from = p.from, .tag = tag});
    if (first && !progress_.contains(p.place))
      beginnings_.push_back({.topic = p.place.topic, .partition = p.place.partition, .next = p.next});
    if (!first)
      log::info("a new partition",
                {{"topic", p.place.topic}, {"partition", p.place.partition}, {"from", p.next}});
    tags_.emplace(p.place, tag);
    partitions_.push_back(std::move(p));
  }
  return consumer_->assign(more);
}

// Topics that are configured by name, and not there: they may come. One that was there may be away for a
// moment; if it stays away it was deleted.
absl::Status KafkaSource::say_missing(const std::vector<TopicPartitions>& found) {
  for (const std::string& name : options_.topics.names) {
    if (name.starts_with('^')) continue;
    if (std::any_of(found.begin(), found.end(), [&](const auto& t) { return t.topic == name; })) {
      missing_.erase(name);
      continue;
    }
    const auto now = Clock::now();
    const auto [it, fresh] = missing_.try_emplace(name, Missing{now, now});
    const bool was_there = topic_names_.contains(name);
    if (was_there && now - it->second.since > kDeleted) {
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
  auto name = topic_names_.find(where.topic);
  if (name == topic_names_.end())
    name = topic_names_.emplace(where.topic, std::make_unique<std::string>(where.topic)).first;
  Partition out{.place = where, .topic = name->second.get()};
  const auto known = !first && mutated(Mutation::progress_of_late_topics_is_ignored) ? progress_.end()
                                                                                     : progress_.find(where);
  if (known == progress_.end()) {
    // A partition that came after its topic's others is read from its beginning, whatever kafka.start says.
    const bool latest = first && options_.from_latest && !topic_has_progress(where.topic);
    out.from = out.next = latest ? marks.high : marks.low;
    return out;
  }
  const LogProgress& progress = known->second;
  out.next = progress.next;
  if (out.next > marks.high) {
    return absl::FailedPreconditionError(fmt::format(
        "{0}/{1} ends at offset {2}, but it was read up to {3} before: the topic was deleted and made "
        "again, or lost records. To start over with it, use a new index log and state directory (doppel "
        "rebuild --from documents)",
        where.topic, where.partition, marks.high, out.next));
  }
  if (out.next < marks.low) {
    const std::string message = fmt::format(
        "{}/{} begins at offset {}, but it was read only up to {}: {} records were deleted unread",
        where.topic, where.partition, marks.low, out.next, marks.low - out.next);
    if (!options_.continue_after_loss)
      return absl::FailedPreconditionError(message +
                                           "; to continue without them, set kafka.on_data_loss: continue");
    log::error("input is lost", {{"says", message}});
    out.next = marks.low;
  }
  out.from = out.next;
  if (out.next > marks.low && progress.last_ms >= 0) {
    out.from = out.next - 1;
    out.check_ms = progress.last_ms;
  }
  return out;
}

// The group's offsets decide nothing. Where they differ somebody moved them, and may wonder. A broker that
// has not marked the last ones as committed does not say them; they are not waited for.
void KafkaSource::report_other_offsets(const std::vector<LogProgress>& progress) {
  if (progress.empty() || !options_.compare_offsets) return;
  std::vector<Place> places;
  places.reserve(progress.size());
  for (const LogProgress& p : progress) places.push_back({p.topic, p.partition});
  const absl::StatusOr<std::vector<int64_t>> offsets = consumer_->group_offsets(places, kAskGroupMs);
  if (!offsets.ok()) return;
  for (size_t i = 0; i < places.size(); ++i) {
    if ((*offsets)[i] == progress[i].next) continue;
    log::warn("the group's offset differs from the index log; it is ignored",
              {{"topic", progress[i].topic},
               {"partition", progress[i].partition},
               {"group_offset", (*offsets)[i]},
               {"index_log", progress[i].next}});
  }
}

// ---- a batch

absl::StatusOr<bool> KafkaSource::next(Batch& batch) {
  batch = {};
  const auto every = missing_.empty() ? std::chrono::milliseconds(options_.metadata_ms)
                                      : std::chrono::milliseconds(kLookForMissing);
  if (Clock::now() - looked_ > every) {
    const absl::Status looked = look(false);
    if (!absl::IsUnavailable(looked)) RETURN_IF_ERROR(looked);  // else later
  }
  absl::Status status = gather();
  if (!status.ok()) {
    release();
    return status;
  }
  hand_over(batch);
  return true;
}

absl::Status KafkaSource::gather() {
  Clock::time_point deadline;
  while (gathered_.size() < options_.batch_records && gathered_bytes_ < options_.batch_bytes) {
    const bool any = !gathered_.empty();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const bool over = any && left <= 0;
    if (over && (!wanted_ || wanted_())) break;
    // One record first: only then does the batch's time begin.
    const size_t wanted = any ? std::min(kChunk, options_.batch_records - gathered_.size()) : 1;
    const int wait_ms = over ? kGrowMs : any ? static_cast<int>(left) : options_.idle_ms;
    chunk_.clear();
    const absl::Status polled = consumer_->poll(wanted, wait_ms, chunk_);
    absl::Status status;
    for (size_t i = 0; i < chunk_.size(); ++i) {
      if (status.ok())
        status = take(chunk_[i]);
      else
        consumer_->release(std::span(chunk_).subspan(i, 1));
    }
    RETURN_IF_ERROR(status);
    if (!polled.ok()) RETURN_IF_ERROR(source_error(polled));
    if (gathered_.empty()) break;
    if (!any) deadline = Clock::now() + std::chrono::milliseconds(options_.linger_ms);
  }
  return absl::OkStatus();
}

// Takes the record over, or gives it back.
absl::Status KafkaSource::take(const Incoming& record) {
  Partition& partition = partitions_[record.tag];
  if (record.offset < partition.next) {
    const bool same = record.offset == partition.next - 1 && record.timestamp_ms == partition.check_ms;
    const int64_t offset = record.offset;
    consumer_->release({&record, 1});
    if (same) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format(
        "{}/{} holds another record at offset {} than the one that was read: the topic was deleted and made "
        "again. To "
        "start over with it, use a new index log and state directory (doppel rebuild --from documents)",
        *partition.topic, partition.place.partition, offset));
  }
  partition.next = record.offset + 1;
  gathered_.push_back({record, partition.topic, partition.place.partition});
  gathered_bytes_ += record.bytes();
  return absl::OkStatus();
}

absl::Status KafkaSource::source_error(const absl::Status& failed) {
  if (absl::IsOutOfRange(failed)) {
    return absl::FailedPreconditionError(
        fmt::format("records were deleted before they were read: {}; to continue without them, set "
                    "kafka.on_data_loss: continue and start again",
                    std_sv(failed.message())));
  }
  if (absl::IsUnavailable(failed)) {  // the consumer goes on by itself
    log::warn("input waits for the broker", {{"says", std_sv(failed.message())}});
    return absl::OkStatus();
  }
  if (absl::IsNotFound(failed)) {  // look() decides whether the topic was deleted, and says so
    if (missing_.empty()) looked_ = Clock::time_point();
    return absl::OkStatus();
  }
  return failed;
}

// Sorts what was gathered and copies it.
void KafkaSource::hand_over(Batch& batch) {
  std::sort(gathered_.begin(), gathered_.end(), [](const Gathered& a, const Gathered& b) {
    const int names = a.topic == b.topic ? 0 : a.topic->compare(*b.topic);
    return names != 0 ? names < 0
                      : std::tie(a.partition, a.record.offset) < std::tie(b.partition, b.record.offset);
  });
  for (size_t i = 0; i < gathered_.size(); ++i) {
    const Gathered& g = gathered_[i];
    if (i + 1 == gathered_.size() || gathered_[i + 1].topic != g.topic ||
        gathered_[i + 1].partition != g.partition)
      statistics_->handed_over(*g.topic, g.partition, g.record.offset + 1);
  }
  copy_records(*consumer_, gathered_, pool_, batch);
  bytes_read_ += batch.bytes;
  release();
}

void KafkaSource::release() {
  for (const Gathered& g : gathered_) consumer_->release({&g.record, 1});
  gathered_.clear();
  gathered_bytes_ = 0;
}

}  // namespace doppel::kafka
