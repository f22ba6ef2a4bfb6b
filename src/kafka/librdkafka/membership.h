#pragma once
// The Membership that uses librdkafka.

#include "kafka/cluster.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {

absl::StatusOr<std::unique_ptr<Membership>> library_membership(const ClientOptions& client,
                                                               const MembershipOptions& options);

}  // namespace doppel::kafka
