#pragma once
// One process of doppel after the other on a Kafka in memory, in virtual time. Each test decides what goes
// wrong; nothing does by itself.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kafka/source.h"
#include "kafka/transactor.h"
#include "simulation/cluster.h"
#include "state/index_log.h"

namespace doppel::kafka_test {

// The value of a header; empty if there is none.
inline std::string header_of(const simulation::StoredRecord& record, const std::string& name) {
  for (const auto& [key, value] : record.headers)
    if (key == name) return value.value_or("null");
  return "";
}

// The record that a put_log_ function wrote to `bytes`.
inline simulation::StoredRecord record_of(const std::string& bytes, const LogPlace& at) {
  simulation::StoredRecord out;
  out.key = bytes.substr(at.key, at.value - at.key);
  out.value = bytes.substr(at.value, at.end - at.value);
  return out;
}

// Of a process that owns the log "log".
inline kafka::TransactorOptions transactor_options(const std::string& owner) {
  kafka::TransactorOptions out;
  out.producer.transactions.id = "doppel";
  out.index_log = "log";
  out.owner = owner;
  return out;
}

// A source of the topic "pages".
inline kafka::KafkaSourceOptions source_options() {
  kafka::KafkaSourceOptions out;
  out.group = "doppel";
  out.topics.names.emplace_back("pages");
  out.idle_ms = 1;
  out.in_background = false;
  return out;
}

class Simulated {
 public:
  explicit Simulated(uint64_t seed) : world(seed) {
    world.input = "pages";
    world.index_log = "log";
    world.events = "events";
    world.calls_max = world.records_max = ~uint64_t{0};
    Clock::install(&world.scheduler);
  }
  ~Simulated() { Clock::install(nullptr); }
  Simulated(const Simulated&) = delete;
  Simulated& operator=(const Simulated&) = delete;

  void topic(const std::string& name, size_t partitions) {
    world.broker.topics[name].partitions.resize(partitions);
  }
  // The next process. `faults` are of its calls.
  simulation::LifeCluster& process(std::vector<simulation::Event> faults = {}) {
    const int life = static_cast<int>(processes_.size());
    processes_.push_back(std::make_unique<simulation::LifeCluster>(world, life, std::move(faults)));
    processes_.back()->task = 0;
    return *processes_.back();
  }
  int processes() const { return static_cast<int>(processes_.size()); }
  std::vector<simulation::StoredRecord> committed(const std::string& topic, size_t partition = 0) {
    std::vector<simulation::StoredRecord> out;
    for (const auto& record : world.broker.topics.at(topic).partitions.at(partition).records)
      if (record.state == simulation::StoredRecord::State::committed) out.push_back(record);
    return out;
  }

  simulation::World world;

 private:
  std::vector<std::unique_ptr<simulation::LifeCluster>> processes_;
};

}  // namespace doppel::kafka_test
