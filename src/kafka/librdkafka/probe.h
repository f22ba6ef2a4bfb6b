#pragma once
// Whether a cluster lets us in, and what it lets us do: asked before anything is made or taken over. Nothing
// that is asked here leaves a trace in the cluster.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"

namespace doppel::kafka {

struct Reached {
  // Unavailable: nobody lets us in, and that may pass. InvalidArgument: a person must change something: TLS
  // on one side only, a certificate that is not trusted, a user who is refused. A line for each cause.
  absl::Status status;
  int brokers = 0;  // that the cluster has
  // Brokers that the cluster names under an address that we cannot reach.
  std::vector<std::string> notes;
};

// Returns as soon as it is clear, after `patience` at most (and what name look-ups take).
Reached try_brokers(const ClientOptions& options, std::chrono::milliseconds patience,
                    const std::function<bool()>& stop);

struct TopicUse {
  std::string topic;  // that exists
  bool read = false, write = false;
};

// One status for each: OK, PermissionDenied with the right that is missing, or Unavailable where the broker
// did not say it.
std::vector<absl::Status> try_rights(const ClientOptions& options, const std::string& group,
                                     const std::vector<TopicUse>& uses);

// Whether we may make topics that are not there. One status for each: OK, PermissionDenied, or what else the
// broker says.
std::vector<absl::Status> try_to_make(const ClientOptions& options, const std::vector<TopicSpec>& topics);

}  // namespace doppel::kafka
