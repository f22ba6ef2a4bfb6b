#include "kafka/statistics.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

namespace doppel::kafka {
namespace {

namespace dom = simdjson::dom;

int64_t number(dom::object object, std::string_view name, int64_t otherwise) {
  int64_t value = 0;
  return object[name].get(value) == simdjson::SUCCESS ? value : otherwise;
}

uint64_t count(dom::object object, std::string_view name) {
  return static_cast<uint64_t>(std::max<int64_t>(0, number(object, name, 0)));
}

void read_partition(std::string_view topic, dom::object p, ConsumerStatistics& out) {
  std::string_view state;
  if (p["fetch_state"].get(state) != simdjson::SUCCESS) state = {};
  const int64_t partition = number(p, "partition", -1);
  if (partition < 0 || state == "none" || state.empty()) return;  // known, but not assigned to us
  out.partitions.push_back({.topic = std::string(topic),
                            .partition = static_cast<int32_t>(partition),
                            .end = number(p, "ls_offset", -1),
                            .stable = number(p, "ls_offset", -1),
                            .written = number(p, "hi_offset", -1),
                            .fetched = number(p, "next_offset", -1),
                            .queued = count(p, "fetchq_cnt"),
                            .queued_bytes = count(p, "fetchq_size"),
                            .fetching = state == "active"});
}

void read_broker(dom::object b, ConsumerStatistics& out) {
  out.request_errors += count(b, "txerrs") + count(b, "rxerrs");
  out.request_timeouts += count(b, "req_timeouts");
  out.disconnects += count(b, "disconnects");
  const int64_t id = number(b, "nodeid", -1);
  std::string_view source;
  if (b["source"].get(source) != simdjson::SUCCESS) source = {};
  if (id < 0 || source == "logical") return;  // a second connection to a broker, for the group
  std::string_view state;
  if (b["state"].get(state) != simdjson::SUCCESS) state = {};
  dom::object throttle;
  const bool timed = b["throttle"].get(throttle) == simdjson::SUCCESS;
  // The configured address and the one that the cluster reports may have a connection each.
  const auto same = [&](const ConsumerStatistics::Broker& broker) { return broker.id == id; };
  if (const auto at = std::find_if(out.brokers.begin(), out.brokers.end(), same); at != out.brokers.end()) {
    at->up = at->up || state == "UP";
    return;
  }
  out.brokers.push_back({.id = static_cast<int32_t>(id),
                         .up = state == "UP",
                         .throttled_s = timed ? static_cast<double>(count(throttle, "avg")) / 1e3 : 0});
}

}  // namespace

uint64_t ConsumerStatistics::queued_bytes() const {
  uint64_t sum = 0;
  for (const Partition& p : partitions) sum += p.queued_bytes;
  return sum;
}

bool parse_statistics(std::string_view json, ConsumerStatistics& out) {
  dom::parser parser;
  dom::object root, topics, brokers;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) return false;
  if (root["topics"].get(topics) != simdjson::SUCCESS) return false;
  ConsumerStatistics fresh;
  fresh.received_bytes = count(root, "rxmsg_bytes");
  fresh.received_records = count(root, "rxmsgs");
  dom::object group;
  if (root["cgrp"].get(group) == simdjson::SUCCESS) fresh.rebalances = count(group, "rebalance_cnt");
  for (const auto& [topic, about] : topics) {
    dom::object partitions;
    if (about["partitions"].get(partitions) != simdjson::SUCCESS) continue;
    for (const auto& [key, partition] : partitions) {
      dom::object p;
      if (partition.get(p) == simdjson::SUCCESS) read_partition(topic, p, fresh);
    }
  }
  if (root["brokers"].get(brokers) == simdjson::SUCCESS) {
    for (const auto& [name, broker] : brokers) {
      dom::object b;
      if (broker.get(b) == simdjson::SUCCESS) read_broker(b, fresh);
    }
  }
  out = std::move(fresh);
  return true;
}

void LatestStatistics::take(std::string_view json) {
  ConsumerStatistics fresh;
  if (!parse_statistics(json, fresh)) return;
  std::lock_guard lock(mutex_);
  latest_ = std::move(fresh);
}

void LatestStatistics::handed_over(const std::string& topic, int32_t partition, int64_t next) {
  std::lock_guard lock(mutex_);
  handed_over_[{topic, partition}] = next;
}

void LatestStatistics::incarnation(const std::string& topic, uint32_t number) {
  std::lock_guard lock(mutex_);
  incarnations_[topic] = number;
}

ConsumerStatistics LatestStatistics::get() const {
  std::lock_guard lock(mutex_);
  ConsumerStatistics out = latest_;
  out.incarnations = incarnations_;
  for (ConsumerStatistics::Partition& p : out.partitions)
    if (const auto at = handed_over_.find({p.topic, p.partition}); at != handed_over_.end())
      p.taken = at->second;
  if (!ends_) return out;
  for (ConsumerStatistics::Partition& p : out.partitions)
    p.end = std::max(p.end, ends_(p.topic, p.partition));
  return out;
}

void LatestStatistics::ask_ends(Ends ends) {
  std::lock_guard lock(mutex_);
  ends_ = std::move(ends);
}

}  // namespace doppel::kafka
