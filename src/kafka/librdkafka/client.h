#pragma once
// Everything that our librdkafka clients share: settings, errors as Status, logs, and how they end.

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

// Destroys a client. It abandons a consumer after five seconds, because rd_kafka_destroy() of version 2.0
// never returns after a topic that the client consumed was deleted. It waits for a producer, because the
// producer's messages refer to the caller's memory.
struct Destroy {
  std::shared_ptr<void> opaque;  // what a consumer's callbacks use; an abandoned consumer keeps it
  void operator()(rd_kafka_t* client) const;
};
using Client = std::unique_ptr<rd_kafka_t, Destroy>;

// Leaks a client. The process will end without destructors of static objects, because the client's threads
// use them until the end.
void leave_behind(Client client);

struct DestroyConf {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, DestroyConf>;

using Settings = std::vector<std::pair<std::string, std::string>>;
// `ours` override the user's settings. A name that ends in '?' is skipped if this version of the library does
// not know the setting. The thread that polls the client or waits for it runs the callbacks: `on_statistics`
// gets JSON (statistics.interval.ms), `on_trouble` runs when a connection breaks, `on_rebalance` when the
// group assigns or revokes partitions, and `on_throttle` when a broker quota delays the next request.
using OnStatistics = int (*)(rd_kafka_t*, char* json, size_t length, void* opaque);
using OnDelivery = void (*)(rd_kafka_t*, const rd_kafka_message_t*, void* opaque);
using OnTrouble = void (*)(rd_kafka_t*, int code, const char* reason, void* opaque);
using OnThrottle = void (*)(rd_kafka_t*, const char* name, int32_t broker, int milliseconds, void* opaque);
using OnRebalance = void (*)(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*,
                             void* opaque);
absl::StatusOr<Client> make_consumer(const ClientOptions& options, const Settings& ours,
                                     OnStatistics on_statistics = nullptr,
                                     std::shared_ptr<void> opaque = nullptr, OnTrouble on_trouble = nullptr,
                                     OnRebalance on_rebalance = nullptr);
absl::StatusOr<Client> make_producer(const ClientOptions& options, const Settings& ours,
                                     OnDelivery on_delivery = nullptr, OnTrouble on_trouble = nullptr,
                                     void* opaque = nullptr, OnThrottle on_throttle = nullptr);

// Whether a property applies to consumers, or to producers if `consumer` is false. Removes the prefix
// "consumer." or "producer." from `name`.
bool applies(std::string_view& name, bool consumer);

// Whether a message must not show the value. The library's message repeats a value that it refuses.
bool is_secret(std::string_view property);

// The message is "what: message (CODE)"; cluster.h defines the status codes.
absl::Status error(const std::string& what, rd_kafka_resp_err_t code);
absl::Status error(const std::string& what, rd_kafka_resp_err_t code, const std::string& message);

struct DestroyList {
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
};
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, DestroyList>;

struct DestroyTopic {
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
};
using TopicHandle = std::unique_ptr<rd_kafka_topic_t, DestroyTopic>;

struct DestroyMetadata {
  void operator()(const rd_kafka_metadata_t* metadata) const { rd_kafka_metadata_destroy(metadata); }
};
using MetadataAnswer = std::unique_ptr<const rd_kafka_metadata_t, DestroyMetadata>;

// Adds the place with its offset and note.
void add_offset(rd_kafka_topic_partition_list_t* list, const TopicPartition& place,
                const GroupOffset& offset);

// The classes of cluster.h that use librdkafka.
absl::StatusOr<std::unique_ptr<Consumer>> library_consumer(const ClientOptions& client,
                                                           const ConsumerOptions& options);
absl::StatusOr<std::unique_ptr<Membership>> library_membership(const ClientOptions& client,
                                                               const MembershipOptions& options);
// It decides what an error means by the error's flags first, because the code for a time-out occurs with
// every meaning.
absl::StatusOr<std::unique_ptr<TransactionalProducer>> library_producer(const ClientOptions& client,
                                                                        const TransactionalOptions& options);

}  // namespace doppel::kafka
