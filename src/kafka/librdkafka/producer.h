#pragma once
// TransactionalProducer by librdkafka. Answers are judged by the error's flags, never by its code: one and
// the same time-out comes with every meaning.

#include "kafka/cluster.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {

absl::StatusOr<std::unique_ptr<TransactionalProducer>> library_producer(const ClientOptions& client,
                                                                        const TransactionalOptions& options);

}  // namespace doppel::kafka
