#pragma once
// The TransactionalProducer that uses librdkafka. It decides what an error means by the error's flags first,
// because the code for a time-out occurs with every meaning.

#include "kafka/cluster.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {

absl::StatusOr<std::unique_ptr<TransactionalProducer>> library_producer(const ClientOptions& client,
                                                                        const TransactionalOptions& options);

}  // namespace doppel::kafka
