#pragma once
// What all of our librdkafka clients share: settings, errors as Status, logs, and their end.

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"

namespace doppel::kafka {

// Ends a client. A consumer is left behind after five seconds: version 2.0 never returns from
// rd_kafka_destroy() after a topic that it consumed was deleted. A producer is waited for, because its
// messages are views into memory of the caller.
struct Destroy {
  void operator()(rd_kafka_t* client) const;
};
using Client = std::unique_ptr<rd_kafka_t, Destroy>;

struct DestroyConf {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, DestroyConf>;

using Settings = std::vector<std::pair<std::string, std::string>>;
// `ours` are set after the user's. Settings that this version of the library does not know are left out if
// their name ends in '?'. Callbacks are called by the thread that polls the client or waits for it:
// `on_statistics` with JSON (statistics.interval.ms), `on_trouble` when a connection broke, `on_rebalance`
// when a group gives or takes partitions.
using OnStatistics = int (*)(rd_kafka_t*, char* json, size_t length, void* opaque);
using OnDelivery = void (*)(rd_kafka_t*, const rd_kafka_message_t*, void* opaque);
using OnTrouble = void (*)(rd_kafka_t*, int code, const char* reason, void* opaque);
using OnRebalance = void (*)(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*,
                             void* opaque);
absl::StatusOr<Client> make_consumer(const ClientOptions& options, const Settings& ours,
                                     OnStatistics on_statistics = nullptr, void* opaque = nullptr,
                                     OnTrouble on_trouble = nullptr, OnRebalance on_rebalance = nullptr);
absl::StatusOr<Client> make_producer(const ClientOptions& options, const Settings& ours,
                                     OnDelivery on_delivery = nullptr, OnTrouble on_trouble = nullptr,
                                     void* opaque = nullptr);

// Whether a property is meant for consumers (else for producers): takes "consumer." or "producer." away.
bool applies(std::string_view& name, bool consumer);

// The library repeats a value that it does not take.
bool is_secret(std::string_view property);

// "what: message (CODE)", with the meaning that cluster.h gives to status codes.
absl::Status error(const std::string& what, rd_kafka_resp_err_t code);
absl::Status error(const std::string& what, rd_kafka_resp_err_t code, const std::string& message);

struct DestroyList {
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
};
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, DestroyList>;
// With the note.
void add_offset(rd_kafka_topic_partition_list_t* list, const Place& place, const GroupOffset& offset);

}  // namespace doppel::kafka
