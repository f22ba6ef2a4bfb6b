#pragma once
// Lists, creates and describes topics with librdkafka's metadata and admin calls. Each function implements
// one of Cluster; `client` may be any client.

#include "kafka/cluster.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {

absl::StatusOr<std::string> cluster_id(rd_kafka_t* client);
absl::StatusOr<std::vector<TopicPartitions>> list_topics(rd_kafka_t* client);
// With `only_ask` the broker validates the request but creates nothing.
absl::Status create_topic(rd_kafka_t* client, const TopicSpec& spec, bool only_ask = false);
absl::StatusOr<std::vector<std::string>> topic_configs(rd_kafka_t* client, const std::string& topic,
                                                       const std::vector<std::string>& names);

// As Cluster::topic_ids().
absl::StatusOr<std::vector<std::string>> topic_ids(rd_kafka_t* client,
                                                   const std::vector<std::string>& topics);

}  // namespace doppel::kafka
