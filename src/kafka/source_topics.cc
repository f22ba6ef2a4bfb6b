// Finds out whether the topics of a source are those that were read: the facts for same_topic.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"
#include "kafka/source.h"

namespace doppel::kafka {
namespace {

// Brokers need longer than this to delete a topic, to create it again and to store records at offsets that
// were read: 80 ms on one machine. So records that arrive within this time after a successful comparison
// belong to the same topic. A consumer's errors are no help: between two of its requests the topic may come
// and go, and a process that stands still has long pauses between them.
constexpr std::chrono::milliseconds kTrusted(20);
// Brokers need longer than this to lose records: one has to die, and another to take over or to start again.
constexpr std::chrono::seconds kKept(1);
constexpr std::chrono::milliseconds kPause(200);   // before the broker is asked again
constexpr std::chrono::seconds kSettled(1);        // how long brokers may disagree about a topic
constexpr std::chrono::seconds kGroupAnswers(30);  // how long the group's offsets may be hidden
constexpr int kAskGroupMs = 2'000;
// Brokers delete the offsets of a group without members some time after the last commit, by default after
// seven days; some are configured for one.
constexpr std::chrono::hours kNotesLast(20);

std::string in_words(const TopicPartition& place) {
  return fmt::format("{}/{}", place.topic, place.partition);
}

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

// Checks that the gathered records belong to the topics that were read before: they have the same ids, and
// the last records that were read are unchanged.
absl::Status KafkaSource::compare_topics() {
  if (mutated(Mutation::topics_are_not_compared)) return absl::OkStatus();
  const Clock::time_point now = Clock::now();
  std::set<uint32_t> tags;  // of partitions to compare
  std::set<Topic*> topics;
  for (const Gathered& g : gathered_) {
    const Partition& p = partitions_[g.record.tag];
    if (now - p.compared >= kKept && p.last) tags.insert(g.record.tag);
    if (now - p.topic->compared < kTrusted || (!p.topic->last && p.topic->id == nullptr)) continue;
    topics.insert(p.topic);
    if (p.topic->last) tags.insert(*p.topic->last);
  }
  for (const uint32_t tag : tags) topics.insert(partitions_[tag].topic);
  if (topics.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  names.reserve(topics.size());
  for (const Topic* topic : topics) names.push_back(topic->name);
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, cluster_.topic_ids(names));
  std::vector<LastRead> last;
  last.reserve(tags.size());
  for (const uint32_t tag : tags) last.push_back(*partitions_[tag].last);
  std::vector<Found> found;
  if (!last.empty()) {
    ASSIGN_OR_RETURN(found, comparer_->compare(last));
  }
  std::map<const Topic*, Found> worst;
  auto answer = found.begin();
  for (const uint32_t tag : tags) {
    Partition& p = partitions_[tag];
    Found& compared = worst.try_emplace(p.topic, *answer).first->second;
    compared = std::max(compared, *answer);
    if (!differs(*answer++)) p.compared = now;
  }
  auto reported = ids.begin();
  for (Topic* topic : topics) {
    const std::string& id_now = *reported++;
    const IdIs id = id_is(*topic, id_now);
    const Found compared = worst.contains(topic) ? worst.at(topic) : Found::same;
    // Without an id, a record that was removed while we read is no reason to ask the group: the answer waits
    // until our own transaction has ended.
    if (!differs(compared) && (id == IdIs::same || id == IdIs::unknown)) {
      if (compared == Found::same) adopt(*topic, id_now, now);
      topic->compared = now;
      topic->doubted.reset();
    } else {
      RETURN_IF_ERROR(look_at_topic(*topic));
    }
  }
  return absl::OkStatus();
}

void KafkaSource::doubt_topics() {
  for (const auto& [name, topic] : topics_) topic->compared = {};
  for (Partition& p : partitions_) p.compared = {};
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
  doubt_topics();
  return absl::OkStatus();
}

// What speaks for and against a topic being the one that was read.
struct KafkaSource::Evidence {
  Clock::time_point asked;  // before the first question; the last answer may come seconds later
  std::string id;           // as a broker reports it now
  IdIs id_is = IdIs::unknown;
  Found found = Found::same;
  Left left = Left::none;
  std::string differs;            // in words
  std::vector<std::string> back;  // arguments for `doppel offsets set`: where the topic is still the same
};

IdIs KafkaSource::id_is(const Topic& topic, const std::string& id) const {
  if (id.empty() || mutated(Mutation::ids_are_not_asked)) return IdIs::unknown;
  if (topic.id != nullptr && *topic.id == id) return IdIs::same;
  if (topic.former.contains(id)) return IdIs::former;
  return topic.id == nullptr ? IdIs::unknown : IdIs::other;
}

const std::string* KafkaSource::kept(const std::string& id) {
  return id.empty() ? nullptr : &*ids_.insert(id).first;
}

// Records the id of a topic that holds what was read, once it cannot be the one of the topic before.
void KafkaSource::adopt(Topic& topic, const std::string& id, Clock::time_point asked) {
  if (id.empty() || topic.id != nullptr) return;
  if (topic.reported != id) {
    topic.reported = id;
    topic.reported_since = Clock::now();
  } else if (asked - topic.reported_since >= kSettled) {
    topic.id = kept(id);
  }
}

// Finds out whether the topic is the one that was read, and starts it from its beginning if it is another.
absl::Status KafkaSource::look_at_topic(Topic& topic) {
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> all, cluster_.topics());
  const auto in_all =
      std::find_if(all.begin(), all.end(), [&](const TopicPartitions& t) { return t.topic == topic.name; });
  if (in_all == all.end()) return absl::NotFoundError(fmt::format("the topic {} does not exist", topic.name));
  const std::set<int32_t> there(in_all->partitions.begin(), in_all->partitions.end());
  ASSIGN_OR_RETURN(const Evidence evidence, this->evidence(topic, there));
  return decide(topic, evidence, there);
}

absl::StatusOr<KafkaSource::Evidence> KafkaSource::evidence(const Topic& topic,
                                                            const std::set<int32_t>& there) {
  Evidence out{.asked = Clock::now()};
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, cluster_.topic_ids({topic.name}));
  out.id = ids.front();
  out.id_is = id_is(topic, out.id);
  const auto sees = [&](Found found, const std::string& what) {
    out.found = std::max(out.found, found);
    if (found == Found::removed && out.left == Left::none) out.left = Left::perhaps;
    if (!what.empty() && out.differs.empty()) out.differs = what;
  };
  // Of earlier processes, too.
  for (auto at = progress_.lower_bound({topic.name, 0}); at != progress_.end(); ++at) {
    const auto& [place, p] = *at;
    if (place.topic != topic.name) break;
    if (p.incarnation == topic.incarnation && !there.contains(place.partition))
      sees(Found::gone, fmt::format("{} no longer exists", in_words(place)));
  }
  std::vector<LastRead> last;
  std::vector<const Partition*> of_last, differ;
  for (const Partition& p : partitions_) {
    if (p.topic != &topic || p.gone || !p.read) continue;
    if (!there.contains(p.place.partition)) {
      sees(Found::gone, fmt::format("{} no longer exists", in_words(p.place)));
      continue;
    }
    ASSIGN_OR_RETURN(const Watermarks marks, cluster_.watermarks(p.place, Isolation::committed));
    if (marks.high < p.next) {
      sees(Found::ended, fmt::format("{} ends at offset {}, but it was read up to {}", in_words(p.place),
                                     marks.high, p.next));
      differ.push_back(&p);
    } else if (p.last) {
      last.push_back(*p.last);
      of_last.push_back(&p);
    } else if (p.next > 0) {
      sees(Found::removed, "");
    }
  }
  if (!last.empty()) {
    ASSIGN_OR_RETURN(const std::vector<Found> found, comparer_->compare(last));
    for (size_t i = 0; i < last.size(); ++i) {
      if (found[i] == Found::same) out.left = Left::some;
      if (!kafka::differs(found[i])) {
        sees(found[i], "");
        continue;
      }
      const std::string place = in_words(last[i].place);
      sees(found[i], found[i] == Found::another
                         ? fmt::format("{} holds another record at offset {} than the one that was read",
                                       place, last[i].offset)
                         : fmt::format("{} holds no record at offset {} any more, where one was read", place,
                                       last[i].offset));
      differ.push_back(of_last[i]);
    }
  }
  RETURN_IF_ERROR(find_where_it_differs(std::move(differ), out));
  if (out.id_is == IdIs::other)
    out.differs = fmt::format("the topic {} has the id {}, and the one that was read had {}", topic.name,
                              out.id, *topic.id);
  return out;
}

// Looks for the last record of each partition that is still the same.
absl::Status KafkaSource::find_where_it_differs(std::vector<const Partition*> differ, Evidence& out) {
  for (size_t back = 0; !differ.empty(); ++back) {
    std::vector<LastRead> ask;
    std::vector<const Partition*> asked;
    for (const Partition* p : differ) {
      if (mutated(Mutation::a_topic_that_grew_again_is_the_same)) {
        out.back.push_back(fmt::format("{}={}", in_words(p->place), p->next));
      } else if (back >= p->samples.size()) {
        out.back.push_back(fmt::format("{}=beginning", in_words(p->place)));
      } else {
        const LogProgress::Sample& sample = p->samples[p->samples.size() - 1 - back];
        ask.push_back({p->place, sample.offset, sample.timestamp_ms, sample.checksum});
        asked.push_back(p);
      }
    }
    differ.clear();
    if (ask.empty()) break;
    ASSIGN_OR_RETURN(const std::vector<Found> found, comparer_->compare(ask));
    for (size_t i = 0; i < ask.size(); ++i) {
      if (found[i] == Found::same) {
        out.left = Left::some;
        out.back.push_back(fmt::format("{}={}", in_words(asked[i]->place), ask[i].offset + 1));
      } else {
        differ.push_back(asked[i]);
      }
    }
  }
  return absl::OkStatus();
}

// Brokers delete the group's offsets together with the topic, and keep them if they lose its last records.
absl::StatusOr<Note> KafkaSource::note_of(const Topic& topic) {
  std::vector<TopicPartition> places;
  for (const auto& [place, p] : progress_)
    if (place.topic == topic.name) places.push_back(place);
  for (const Partition& p : partitions_)
    if (p.topic == &topic && p.read && !progress_.contains(p.place)) places.push_back(p.place);
  ASSIGN_OR_RETURN(const std::vector<GroupOffset> offsets, consumer_->group_offsets(places, kAskGroupMs));
  if (std::any_of(offsets.begin(), offsets.end(), [](const GroupOffset& o) { return o.offset >= 0; }))
    return Note::kept;
  if (options_.group.empty()) return Note::unclear;
  if (topic.written_ms == 0) return Note::never;
  const std::chrono::milliseconds age(Clock::unix_ms() - topic.written_ms);
  return age < kNotesLast ? Note::gone : Note::unclear;
}

absl::Status KafkaSource::decide(Topic& topic, const Evidence& e, const std::set<int32_t>& there) {
  // What speaks against the topic must hold for a while: a broker may not know of the new topic yet, nor of
  // the end of the old one. Time in which brokers do not answer does not count.
  if (!topic.doubted || topic.doubted_id != e.id) {
    topic.doubted = Clock::now();
    topic.doubted_id = e.id;
  }
  const auto doubted = e.asked - *topic.doubted;
  Note note = Note::unclear;
  if (needs_note(e.id_is, e.found)) {
    const absl::StatusOr<Note> asked = note_of(topic);
    if (asked.ok()) note = *asked;
    // The answer waits for the end of our own transaction.
    if (!asked.ok() && doubted < kGroupAnswers) return absl::UnavailableError(asked.status().message());
  }
  const SameTopic identity = is_same_topic(e.id_is, e.found, e.left, note);
  if (identity == SameTopic::go_on) {
    if (e.found == Found::same) adopt(topic, e.id, e.asked);
    topic.doubted.reset();
    return absl::OkStatus();
  }
  if (identity == SameTopic::wait || doubted < kSettled)
    return absl::UnavailableError(e.differs.empty() ? "a broker reports the topic that was deleted"
                                                    : e.differs);
  if ((identity == SameTopic::read_again || identity == SameTopic::read_all) &&
      options_.recreated_stops.empty())
    return begin_again(topic, e, identity == SameTopic::read_all ? topic.moved + 1 : 0, there);
  return stops(topic, e, identity);
}

absl::Status KafkaSource::stops(const Topic& topic, const Evidence& e, SameTopic identity) const {
  if (identity == SameTopic::read_again)
    return absl::FailedPreconditionError(
        fmt::format("{}: the topic was deleted and created again. {}", e.differs, options_.recreated_stops));
  const auto go_back = [&](const std::vector<std::string>& to) {
    const std::string list = absl::StrJoin(to, " ");
    return options_.moved_by_doppel ? fmt::format("doppel offsets set {} --yes", list)
                                    : fmt::format("kafka-consumer-groups.sh --reset-offsets ({})", list);
  };
  if (e.found == Found::removed) {  // unclear
    std::vector<std::string> on, beginning;
    for (const Partition& p : partitions_) {
      if (p.topic != &topic || p.gone || !p.read) continue;
      on.push_back(fmt::format("{}={}", in_words(p.place), p.next));
      beginning.push_back(in_words(p.place) + "=beginning");
    }
    return absl::FailedPreconditionError(
        fmt::format("the last record that was read from {0} is removed, and so are the offsets of the group "
                    "{1}: the topic "
                    "may be another one. To go on where the first one was read to: {2}. To read it from its "
                    "beginning: {3}",
                    topic.name, options_.group, go_back(on), go_back(beginning)));
  }
  const std::string what = identity == SameTopic::lost
                               ? "the brokers have lost records that were read. "
                               : "either the topic was deleted and created again, or the "
                                 "brokers have lost records that were read. "
                                 "In both cases, ";
  const std::string helps = options_.order_is_lost.empty()
                                ? fmt::format("{} back to where it is the same, and start again: {}",
                                              identity == SameTopic::lost ? "Go" : "go", go_back(e.back))
                                : options_.order_is_lost;
  return absl::FailedPreconditionError(fmt::format("{}: {}{}", e.differs, what, helps));
}

absl::Status KafkaSource::begin_again(Topic& topic, const Evidence& e, uint32_t moved,
                                      const std::set<int32_t>& there) {
  std::map<int32_t, Watermarks> marks;
  for (const Partition& p : partitions_) {
    if (p.topic != &topic || p.gone || !there.contains(p.place.partition)) continue;
    ASSIGN_OR_RETURN(marks[p.place.partition], cluster_.watermarks(p.place, Isolation::committed));
  }
  ++topic.incarnation;
  topic.moved = moved;
  if (topic.id != nullptr) topic.former.insert(*topic.id);
  topic.id = nullptr;
  adopt(topic, e.id, e.asked);
  topic.written_ms = 0;
  topic.last.reset();
  topic.doubted.reset();
  std::vector<std::string> old, fresh;  // in words
  for (Partition& p : partitions_) {
    if (p.topic != &topic || p.gone) continue;  // if it is there again, look() finds it as a new partition
    p.gone = !there.contains(p.place.partition);
    const Watermarks& now = marks[p.place.partition];
    old.push_back(fmt::format("{}:{}", p.place.partition, p.judged));
    if (!p.gone) fresh.push_back(fmt::format("{}:{}-{}", p.place.partition, now.low, now.high));
    p.next = p.judged = now.low;
    p.last.reset();
    p.samples.clear();
    p.read = false;
    if (p.gone) tags_.erase(p.place);
  }
  // Of several processes that share the topic, one says it as an error: the one with its first partition.
  const bool ours = !there.empty() && tags_.contains(TopicPartition{topic.name, *there.begin()});
  (ours ? log::error : log::info)(
      topic.moved == 0
          ? "an input topic was deleted and created again; the new one is read from its beginning"
          : "nothing that was read from an input topic is left: it was deleted and created "
            "again, or its brokers lost it; it is read from its beginning",
      {{"topic", topic.name},
       {"incarnation", topic.incarnation},
       {"old_was_judged_up_to", absl::StrJoin(old, " ")},
       {"new_offsets", absl::StrJoin(fresh, " ")}});
  statistics_->incarnation(topic.name, topic.incarnation);
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
