#pragma once
// The Consumer that uses librdkafka.

#include "kafka/cluster.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {

absl::StatusOr<std::unique_ptr<Consumer>> library_consumer(const ClientOptions& client,
                                                           const ConsumerOptions& options);

}  // namespace doppel::kafka
