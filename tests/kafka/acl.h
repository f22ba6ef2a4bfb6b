#pragma once
// Users and rights on a broker with tls_sasl.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kafka/broker.h"
#include "kafka/client.h"

namespace doppel::testing {

// The properties of a user of the SASL_SSL listener.
inline std::string sasl_properties(const Broker& broker, const std::string& mechanism,
                                   const std::string& password) {
  return "{security.protocol: SASL_SSL, sasl.mechanism: " + mechanism +
         ", sasl.username: doppel, sasl.password: " + password + ", ssl.ca.location: '" + broker.folder() +
         "/tls/ca.pem'}";
}

// From now on the user has these rights on the topic, and no others.
inline void allow(Client& client, const std::string& topic, const std::string& user,
                  const std::vector<rd_kafka_AclOperation_t>& rights,
                  rd_kafka_ResourceType_t kind = RD_KAFKA_RESOURCE_TOPIC) {
  std::vector<rd_kafka_AclBinding_t*> rules;
  for (const rd_kafka_AclOperation_t right : rights)
    rules.push_back(rd_kafka_AclBinding_new(kind, topic.c_str(), RD_KAFKA_RESOURCE_PATTERN_LITERAL,
                                            ("User:" + user).c_str(), "*", right,
                                            RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, nullptr, 0));
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client.handle());
  rd_kafka_CreateAcls(client.handle(), rules.data(), rules.size(), nullptr, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, 30'000);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_event_error_string(event);
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_AclBinding_destroy_array(rules.data(), rules.size());
}

}  // namespace doppel::testing
