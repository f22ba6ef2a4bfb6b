// Detects topics of a source that were deleted and created again under the same name.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/mutation.h"
#include "base/status.h"
#include "kafka/source.h"

namespace doppel::kafka {
namespace {

// Brokers need longer than this to delete a topic, to create it again and to store records at offsets that
// were read: 80 ms on one machine. So records that arrive within this time after a successful comparison
// belong to the same topic. A consumer's errors are no help: between two of its requests the topic may come
// and go, and a process that stands still has long pauses between them.
constexpr std::chrono::milliseconds kTrusted(20);
constexpr std::chrono::milliseconds kPause(200);  // before the broker is asked again

std::string in_words(const Place& place) { return fmt::format("{}/{}", place.topic, place.partition); }

}  // namespace

absl::Status KafkaSource::open_consumer() {
  ASSIGN_OR_RETURN(std::unique_ptr<Consumer> consumer, cluster_.consumer({.group = options_.group,
                                                                          .queue_bytes = options_.queue_bytes,
                                                                          .statistics = statistics_}));
  statistics_->ask_ends([consumer = consumer.get()](const std::string& topic, int32_t partition) {
    return consumer->known_end({topic, partition});
  });
  followed_ = Clock::now();  // the statistics still come from the previous consumer
  std::swap(consumer_, consumer);
  if (consumer == nullptr) return absl::OkStatus();
  consumer->unassign();
  old_consumers_.push_back(std::move(consumer));
  return absl::OkStatus();
}

// Checks that the gathered records belong to the topics that were read before: the last record read from each
// topic is unchanged.
absl::Status KafkaSource::compare_topics() {
  if (mutated(Mutation::topics_are_not_compared)) return absl::OkStatus();
  const Clock::time_point now = Clock::now();
  std::vector<Topic*> topics;
  std::vector<LastRead> last;
  for (const auto& [name, topic] : topics_) {
    if (!topic->last || now - topic->compared < kTrusted) continue;
    const std::string* of = &topic->name;
    if (std::none_of(gathered_.begin(), gathered_.end(), [&](const Gathered& g) { return g.topic == of; }))
      continue;
    topics.push_back(topic.get());
    last.push_back(*partitions_[*topic->last].last);
  }
  if (topics.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Same> same, witness_->compare(last));
  for (size_t i = 0; i < topics.size(); ++i) {
    if (same[i] == Same::no) {
      RETURN_IF_ERROR(look_at_topic(*topics[i]));
    } else {
      topics[i]->compared = now;
    }
  }
  return absl::OkStatus();
}

void KafkaSource::doubt_topics() {
  for (const auto& [name, topic] : topics_) topic->compared = {};
}

// Keeps the gathered records until their topics can be compared.
absl::Status KafkaSource::wait_for_topics(const absl::Status& why) {
  const auto now = Clock::now();
  if (!waits_since_) {
    waits_since_ = now;
    log::warn("input waits until its topics answer", {{"says", std_sv(why.message())}});
  }
  if (absl::IsNotFound(why) && now - *waits_since_ > kDeleted)
    return absl::FailedPreconditionError("an input topic has been deleted: " + std::string(why.message()));
  doubt_topics();
  Clock::sleep(kPause);
  return absl::OkStatus();
}

// Finds out why the offset to read next does not exist: lost records, or another topic.
absl::Status KafkaSource::explain_loss() {
  if (lost_.ok()) return absl::OkStatus();
  std::set<Topic*> end_before;
  for (Partition& p : partitions_) {
    if (p.gone) continue;
    ASSIGN_OR_RETURN(const Watermarks marks, cluster_.watermarks(p.place, Isolation::committed));
    if (marks.high < p.next) end_before.insert(p.topic);
    if (marks.low <= p.next) continue;
    RETURN_IF_ERROR(skip_lost(p, marks));
  }
  const size_t consumers = old_consumers_.size();
  for (Topic* topic : end_before) RETURN_IF_ERROR(look_at_topic(*topic));
  if (old_consumers_.size() == consumers) {  // after the error this consumer no longer reads the partition
    RETURN_IF_ERROR(open_consumer());
    RETURN_IF_ERROR(assign(0, assigned_));
  }
  lost_ = absl::OkStatus();
  return absl::OkStatus();
}

// Starts the topic from its beginning if it was deleted and created again.
absl::Status KafkaSource::look_at_topic(Topic& topic) {
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> all, cluster_.topics());
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const TopicPartitions& t) { return t.topic == topic.name; });
  if (found == all.end()) return absl::NotFoundError(fmt::format("the topic {} does not exist", topic.name));
  const std::set<int32_t> there(found->partitions.begin(), found->partitions.end());
  ASSIGN_OR_RETURN(const bool made_again, is_made_again(topic, there));
  return made_again ? begin_again(topic, there) : absl::OkStatus();
}

// A topic that was created again holds other records, or ends before the offset that was read. A topic that
// still holds a record that was read is the same; if one of its partitions ends too early, the brokers have
// lost records.
absl::StatusOr<bool> KafkaSource::is_made_again(const Topic& topic, const std::set<int32_t>& there) {
  std::vector<LastRead> last;
  std::string differs, remedy;
  // Of earlier processes, too.
  for (auto at = progress_.lower_bound({topic.name, 0}); at != progress_.end(); ++at) {
    const auto& [place, p] = *at;
    if (place.topic != topic.name) break;
    if (p.incarnation == topic.incarnation && !there.contains(place.partition))
      differs = fmt::format("{} no longer exists", in_words(place));
  }
  for (const Partition& p : partitions_) {
    if (p.topic != &topic || p.gone) continue;
    if (!there.contains(p.place.partition)) {
      differs = fmt::format("{} no longer exists", in_words(p.place));
      continue;
    }
    ASSIGN_OR_RETURN(const Watermarks marks, cluster_.watermarks(p.place, Isolation::committed));
    if (marks.high < p.next) {
      differs = fmt::format("{} ends at offset {}, but it was read up to {}", in_words(p.place), marks.high,
                            p.next);
      remedy = fmt::format("doppel offsets set {}=end", in_words(p.place));
    } else if (p.last) {
      last.push_back(*p.last);
    }
  }
  std::vector<LastRead> found;
  if (!last.empty()) {
    ASSIGN_OR_RETURN(const std::vector<Same> same, witness_->compare(last));
    for (size_t i = 0; i < last.size(); ++i) {
      if (same[i] == Same::yes) found.push_back(last[i]);
      if (same[i] != Same::no) continue;
      const std::string place = in_words(last[i].place);
      differs = fmt::format("{} holds another record at offset {} than the one that was read", place,
                            last[i].offset);
      remedy = fmt::format("doppel offsets set {}={}", place, last[i].offset + 1);
    }
  }
  if (differs.empty()) return false;
  // The topic may have been created again between two answers.
  std::vector<Same> still;
  if (!found.empty()) {
    ASSIGN_OR_RETURN(still, witness_->compare(found));
  }
  if (std::find(still.begin(), still.end(), Same::yes) != still.end()) {
    if (remedy.empty()) return absl::UnavailableError(differs);
    return absl::FailedPreconditionError(fmt::format(
        "{}, and other partitions of the topic are the same: the brokers have lost records. To continue "
        "behind them: {}",
        differs, remedy));
  }
  if (!options_.recreated_stops.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("{}: the topic was deleted and created again. {}", differs, options_.recreated_stops));
  }
  return true;
}

absl::Status KafkaSource::begin_again(Topic& topic, const std::set<int32_t>& there) {
  std::map<int32_t, Watermarks> marks;
  for (const Partition& p : partitions_) {
    if (p.topic != &topic || p.gone || !there.contains(p.place.partition)) continue;
    ASSIGN_OR_RETURN(marks[p.place.partition], cluster_.watermarks(p.place, Isolation::committed));
  }
  ++topic.incarnation;
  topic.moved = 0;
  topic.last.reset();
  for (Partition& p : partitions_) {
    if (p.topic != &topic || p.gone) continue;  // if it is there again, look() finds it as a new partition
    p.gone = !there.contains(p.place.partition);
    const Watermarks& now = marks[p.place.partition];
    log::error("an input topic was deleted and created again; the new one is read from its beginning",
               {{"topic", topic.name},
                {"partition", p.place.partition},
                {"incarnation", topic.incarnation},
                {"old_was_read_up_to", p.next},
                {"new_begins_at", now.low},
                {"new_ends_at", now.high}});
    p.next = now.low;
    p.last.reset();
    if (p.gone) tags_.erase(p.place);
  }
  drop_gathered(topic);
  if (assigned_ == 0) return absl::OkStatus();
  RETURN_IF_ERROR(open_consumer());
  return assign(0, assigned_);
}

void KafkaSource::drop_gathered(const Topic& topic) {
  std::erase_if(gathered_, [&](const Gathered& g) {
    if (g.topic != &topic.name) return false;
    gathered_bytes_ -= g.record.bytes();
    consumer_->release({&g.record, 1});
    return true;
  });
}

}  // namespace doppel::kafka
