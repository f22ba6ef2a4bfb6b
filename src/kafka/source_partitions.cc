// The partitions that a source reads, where it begins in them, and topics that are missing.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"
#include "kafka/same_topic.h"
#include "kafka/source.h"

namespace doppel::kafka {
namespace {

constexpr int kAskGroupMs = 2'000;
constexpr std::chrono::minutes kSayAgain(1);

}  // namespace

absl::Status KafkaSource::look(bool first) {
  looked_ = Clock::now();
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> found, find_topics(cluster_, options_.topics));
  RETURN_IF_ERROR(say_missing(found));
  RETURN_IF_ERROR(look_for_vanished(found));
  std::vector<Partition> added;
  for (const TopicPartitions& topic : found) {
    for (const int32_t partition : topic.partitions) {
      const TopicPartition where{topic.topic, partition};
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
    if (topic_has_progress(p.place.topic)) read_before.insert(p.topic);
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
                             .incarnation = p.topic->incarnation,
                             .moved = p.topic->moved,
                             .topic_id = p.topic->id != nullptr ? *p.topic->id : "",
                             .former_id = known != progress_.end() ? known->second.topic_id : "",
                             .written_ms = Clock::unix_ms()});
    }
    statistics_->incarnation(p.place.topic, p.topic->incarnation);
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
    const auto [missing, fresh] = missing_.try_emplace(name, Missing{now, now});
    const bool was_there = topics_.contains(name);
    if (was_there && now - missing->second.since > kDeleted &&
        !waits_for_right(cluster_.topic_configs(name, {}).status())) {
      return absl::FailedPreconditionError(fmt::format(
          "the input topic {} has been deleted: no broker has known it for {} s", name, kDeleted.count()));
    }
    if (!fresh && now - missing->second.logged < kSayAgain) continue;
    missing->second.logged = now;
    log::warn(was_there ? "an input topic has disappeared; waiting for it"
                        : "an input topic does not exist or is not accessible; waiting for it",
              {{"topic", name}});
  }
  if (found.empty() && missing_.empty() && partitions_.empty() && !said_none_)
    log::warn("no topic matches yet", {{"topics", absl::StrJoin(options_.topics.names, " ")}});
  said_none_ = true;
  return absl::OkStatus();
}

// A partition disappears only if its topic is created again with fewer.
absl::Status KafkaSource::look_for_vanished(const std::vector<TopicPartitions>& found) {
  for (const TopicPartitions& there : found) {
    bool vanished = false;
    for (auto at = tags_.lower_bound({there.topic, 0}); at != tags_.end() && at->first.topic == there.topic;
         ++at)
      vanished = vanished ||
                 !std::binary_search(there.partitions.begin(), there.partitions.end(), at->first.partition);
    if (vanished) RETURN_IF_ERROR(look_at_topic(*topics_.find(there.topic)->second));
  }
  return absl::OkStatus();
}

bool KafkaSource::topic_has_progress(const std::string& topic) const {
  const auto first = progress_.lower_bound({topic, 0});
  return first != progress_.end() && first->first.topic == topic;
}

absl::StatusOr<KafkaSource::Partition> KafkaSource::place(const TopicPartition& where, bool first) {
  ASSIGN_OR_RETURN(const Watermarks marks, cluster_.watermarks(where, Isolation::committed));
  std::unique_ptr<Topic>& topic = topics_[where.topic];
  if (topic == nullptr) {
    topic = std::make_unique<Topic>(Topic{.name = where.topic});
    for (const auto& [place, p] : progress_) {
      if (place.topic != where.topic || p.incarnation < topic->incarnation) continue;
      if (p.incarnation > topic->incarnation || !p.topic_id.empty()) topic->id = kept(p.topic_id);
      topic->incarnation = p.incarnation;
      topic->moved = p.moved;
      topic->written_ms = std::max(topic->written_ms, p.written_ms);
      if (!p.former_id.empty()) topic->former.insert(p.former_id);
    }
  }
  Partition out{.place = where, .topic = topic.get()};
  const auto known = !first && mutated(Mutation::progress_of_late_topics_is_ignored) ? progress_.end()
                                                                                     : progress_.find(where);
  if (known == progress_.end() || known->second.incarnation < topic->incarnation) {
    // A partition that was added to a topic later is read from its beginning, whatever kafka.start says.
    const bool latest = first && options_.from_latest && !topic_has_progress(where.topic);
    out.next = out.judged = latest ? marks.high : marks.low;
    return out;
  }
  const LogProgress& progress = known->second;
  out.next = out.judged = progress.next;
  out.read = true;
  out.samples = progress.samples;
  if (!out.samples.empty()) {
    const LogProgress::Sample& last = out.samples.back();
    out.last = LastRead{where, last.offset, last.timestamp_ms, last.checksum};
  } else if (progress.last_ms >= 0) {
    out.last = LastRead{.place = where, .offset = out.next - 1, .timestamp_ms = progress.last_ms};
  }
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
  std::vector<TopicPartition> places;
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

}  // namespace doppel::kafka
