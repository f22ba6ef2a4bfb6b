#pragma once
// What all of our connections to Kafka share: settings, errors as Status, logs. Only this folder knows
// librdkafka.

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel::kafka {

struct ClientOptions {
  std::string brokers;
  // Any property of librdkafka. "consumer." or "producer." before the name: for these only.
  std::vector<std::pair<std::string, std::string>> properties;
  std::string client_id = "doppel";
};

// An error that names the property: unknown to this version of the library, impossible, or one that would
// break what doppel promises.
absl::Status check_properties(const ClientOptions& options);

struct Destroy {
  void operator()(rd_kafka_t* client) const;
};
using Client = std::unique_ptr<rd_kafka_t, Destroy>;

using Settings = std::vector<std::pair<std::string, std::string>>;
// `ours` are set after the user's. Settings that this version of the library does not know are left out if
// their name ends in '?'.
// `on_statistics`, if any, is called with JSON by whoever takes records (statistics.interval.ms).
using OnStatistics = int (*)(rd_kafka_t*, char* json, size_t length, void* opaque);
absl::StatusOr<Client> make_consumer(const ClientOptions& options, const Settings& ours,
                                     OnStatistics on_statistics = nullptr, void* opaque = nullptr);
// Both are called by whoever polls the producer or waits for it. `on_trouble`: a connection broke.
using OnDelivery = void (*)(rd_kafka_t*, const rd_kafka_message_t*, void* opaque);
using OnTrouble = void (*)(rd_kafka_t*, int code, const char* reason, void* opaque);
absl::StatusOr<Client> make_producer(const ClientOptions& options, const Settings& ours,
                                     OnDelivery on_delivery = nullptr, OnTrouble on_trouble = nullptr,
                                     void* opaque = nullptr);

// "what: message (CODE)". Fenced: Aborted; what may succeed later: Unavailable; else Internal.
absl::Status error(const std::string& what, rd_kafka_resp_err_t code);
absl::Status error(const std::string& what, rd_kafka_resp_err_t code, const std::string& message);
// Takes ownership; nullptr: OK.
absl::Status error(const std::string& what, rd_kafka_error_t* owned);

struct DestroyList {
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
};
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, DestroyList>;

// First offset, and the end up to which transactions are settled (for a read_committed client).
struct Watermarks {
  int64_t low = 0, high = 0;
};
absl::StatusOr<Watermarks> watermarks(rd_kafka_t* client, const std::string& topic, int32_t partition,
                                      int timeout_ms);

}  // namespace doppel::kafka
