#include "simulation/broker.h"

#include <algorithm>
#include <cstdlib>

#include "kafka/rescue.h"

namespace doppel::simulation {

size_t StoredRecord::bytes() const {
  size_t out = (key ? key->size() : 0) + (value ? value->size() : 0);
  for (const auto& [name, text] : headers) out += name.size() + (text ? text->size() : 0);
  return out;
}

int64_t Partition::stable_end() const {
  const auto open = std::find_if(records.begin(), records.end(),
                                 [](const StoredRecord& r) { return r.state == StoredRecord::State::open; });
  return open == records.end() ? end : open->offset;
}

Partition* Broker::find(const TopicPartition& place) {
  const auto topic = topics.find(place.topic);
  if (topic == topics.end() || topic->second.hidden) return nullptr;
  auto& partitions = topic->second.partitions;
  return place.partition >= 0 && place.partition < static_cast<int32_t>(partitions.size())
             ? &partitions[place.partition]
             : nullptr;
}

int32_t Broker::init(const std::string& id, int life) {
  mark_late();
  Transaction& t = transactions_[id];
  const bool other = t.life != life;
  if (other) did.lost += std::exchange(t.taken_along, {}).size();
  const bool forgotten = std::exchange(t.forget_abort, false);
  const bool unknown = other && !all_named(id);
  for (const TopicPartition& place : t.places) {
    if (unknown) excuse(id, place);
    if (!forgotten) mark(id, place, false);
  }
  t.places.clear();
  t.life = life;
  return ++t.epoch;
}

// Whether each record that hangs outside the log tells a start which document it is about.
bool Broker::all_named(const std::string& id) const {
  for (const auto& [name, topic] : topics) {
    for (const Partition& partition : topic.partitions) {
      for (const StoredRecord& r : partition.records) {
        if (r.state != StoredRecord::State::open || r.transactional_id != id || name == index_log) continue;
        std::vector<Header> headers;
        for (const auto& [header, value] : r.headers) headers.push_back({header, value});
        if (!kafka::document_of(headers)) return false;
      }
    }
  }
  return true;
}

void Broker::excuse(const std::string& id, const TopicPartition& place) {
  for (StoredRecord& r : topics.at(place.topic).partitions.at(place.partition).records) {
    if (r.state != StoredRecord::State::open || r.transactional_id != id || !r.forgotten) continue;
    r.state = StoredRecord::State::committed;
    ++did.excused;
  }
}

bool Broker::fenced(const std::string& id, int32_t epoch) const {
  const auto t = transactions_.find(id);
  return t == transactions_.end() || t->second.epoch != epoch;
}

int64_t Broker::produce(const std::string& id, const TopicPartition& place, StoredRecord record) {
  Partition& partition = topics.at(place.topic).partitions.at(place.partition);
  const auto& configs = topics.at(place.topic).configs;
  const auto limit = configs.find("max.message.bytes");
  if (limit != configs.end() && record.bytes() + 70 > std::stoull(limit->second)) return -1;
  mark_late();  // a transaction begins when the one before has ended
  transactions_[id].places.insert(place);
  ++did.records;
  record.offset = partition.end++;
  record.state = StoredRecord::State::open;
  record.transactional_id = id;
  partition.records.push_back(std::move(record));
  return partition.records.back().offset;
}

const std::string& Broker::id_of(Topic& topic) {
  if (topic.id.empty()) topic.id = "id-" + std::to_string(++ids_);
  return topic.id;
}

void Broker::recreate(const std::string& topic, size_t partitions) {
  Topic& found = topics.at(topic);
  found.partitions = std::vector<Partition>(partitions);
  found.id.clear();
  found.group.clear();
}

void Broker::lose_tail(const TopicPartition& place, size_t count) {
  Partition& partition = topics.at(place.topic).partitions.at(static_cast<size_t>(place.partition));
  for (; count > 0 && !partition.records.empty(); --count) {
    partition.end = partition.records.back().offset;
    partition.records.pop_back();
  }
}

void Broker::end(const std::string& id, bool commit,
                 const std::function<Marks(const TopicPartition&)>& marks) {
  Transaction& t = transactions_[id];
  if (commit) {
    ++did.commits;
    t.taken_along.clear();  // it was sent again
  }
  for (const TopicPartition& place : t.places) {
    switch (marks(place)) {
      case Marks::at_once:
        mark(id, place, commit);
        break;
      case Marks::late:
        late_.push_back({id, place, commit});
        break;
      case Marks::never:
        ++did.forgotten;
        for (StoredRecord& r : topics.at(place.topic).partitions.at(place.partition).records)
          if (r.state == StoredRecord::State::open && r.transactional_id == id) r.forgotten = true;
        break;
    }
  }
  t.places.clear();
}

void Broker::time_out(const std::string& id) {
  const auto t = transactions_.find(id);
  if (t == transactions_.end() || t->second.places.empty()) return;
  for (const TopicPartition& place : t->second.places) {
    excuse(id, place);
    mark(id, place, false);
  }
  t->second.forget_abort = false;
  t->second.places.clear();
  ++t->second.epoch;
}

void Broker::mark_late() {
  for (const Late& l : std::exchange(late_, {})) mark(l.id, l.place, l.commit);
}

// Decides over everything that is open there, including records of an earlier transaction of the id.
void Broker::mark(const std::string& id, const TopicPartition& place, bool commit) {
  Partition& partition = topics.at(place.topic).partitions.at(place.partition);
  for (StoredRecord& r : partition.records) {
    if (r.state != StoredRecord::State::open || r.transactional_id != id) continue;
    r.state = commit ? StoredRecord::State::committed : StoredRecord::State::aborted;
    if (!commit && r.forgotten) transactions_[id].taken_along.emplace_back(place, r.offset);
  }
  ++partition.end;  // the marker
}

void Broker::append(const TopicPartition& place, StoredRecord record) {
  Partition& partition = topics.at(place.topic).partitions.at(place.partition);
  record.offset = partition.end++;
  partition.records.push_back(std::move(record));
}

void Broker::compact(const std::string& topic) {
  for (Partition& partition : topics.at(topic).partitions) {
    const int64_t stable = partition.stable_end();
    std::map<std::string, int64_t> last;
    for (const StoredRecord& r : partition.records)
      if (r.offset < stable && r.state == StoredRecord::State::committed && r.key) last[*r.key] = r.offset;
    std::erase_if(partition.records, [&](const StoredRecord& r) {
      if (r.offset >= stable) return false;
      return r.state == StoredRecord::State::aborted || (r.key && last[*r.key] != r.offset);
    });
  }
}

}  // namespace doppel::simulation
