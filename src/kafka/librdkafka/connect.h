#pragma once
// Connects to a real cluster, checks the properties of its clients, and asks what Cluster cannot tell.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/cluster.h"

namespace doppel::kafka {

struct ClientOptions {
  std::string brokers;
  // Any properties of librdkafka. The prefix "consumer." or "producer." limits one to these clients.
  std::vector<std::pair<std::string, std::string>> properties;
};

// Returns " (did you mean X?)", or nothing.
using Suggest = std::function<std::string(std::string_view name, const std::vector<std::string>& known)>;

// Checks properties without sending anything. The error has a line for each property that is unknown to this
// version of the library, has an invalid value, is not in this build, or would break doppel's guarantees.
absl::Status check_properties(const ClientOptions& options, const Suggest& suggest = nullptr);

std::string library_version();                                // such as "2.0.2"
std::string security_protocol(const ClientOptions& options);  // in upper case
std::string sasl_mechanism(const ClientOptions& options);     // empty: not set

// Sends nothing before the first call to the cluster.
std::unique_ptr<Cluster> connect(ClientOptions options);

// Finds out whether a cluster accepts us and what it permits, before doppel creates or takes over anything.
// These requests change nothing in the cluster.
struct Reached {
  // Unavailable: no broker accepts us, which may pass. InvalidArgument: a person must change something, such
  // as TLS on one side only, an untrusted certificate or a refused user. The message has a line for each
  // cause.
  absl::Status status;
  int brokers = 0;  // number of brokers in the cluster
  // A line for each broker whose advertised address we cannot reach.
  std::vector<std::string> notes;
};

// Returns as soon as the result is clear, at the latest after `patience` plus the time of name look-ups.
Reached try_brokers(const ClientOptions& options, std::chrono::milliseconds patience,
                    const std::function<bool()>& stop);

struct TopicUse {
  std::string topic;  // it must exist
  bool read = false, write = false;
};

// Returns one status for each use: OK, PermissionDenied with the missing right, or Unavailable if the broker
// did not say.
std::vector<absl::Status> try_rights(const ClientOptions& options, const std::string& group,
                                     const std::vector<TopicUse>& uses);

// Whether we may read in a group, which means to commit its offsets and to be its member: OK,
// PermissionDenied, or Unavailable if the broker did not say.
absl::Status try_group(const ClientOptions& options, const std::string& group);
// Whether we may write with a transactional id; the same. FailedPrecondition: asking would fence its owner.
absl::Status try_transactional_id(const ClientOptions& options, const std::string& id);

// Asks whether we may create topics that do not exist. Returns one status for each: OK, PermissionDenied,
// AlreadyExists if the topic exists, so that we may not see it, or another error of the broker.
std::vector<absl::Status> try_to_make(const ClientOptions& options, const std::vector<TopicSpec>& topics);

// Finds out what listens at a broker's address: nothing, plain text or TLS. It sends bytes of its own,
// because the client library only sees that the connection closed and guesses why.
enum class Speaks { plain, tls, neither };

// Splits a list such as "a:1, [::1]:2" into addresses. It removes a leading "PROTOCOL://" and adds the port
// 9092 if there is none. The error for an invalid address names it and kafka.brokers.
absl::StatusOr<std::vector<std::string>> split_brokers(std::string_view brokers);

// Tries to connect. Unavailable: nothing accepts a connection there; the message says why.
absl::Status reach(const std::string& address, std::chrono::milliseconds patience);
// Sends a request in plain text and, if the answer is not one of Kafka's, the first bytes of TLS. Sends
// nothing else. Each of the two attempts may take `patience`.
absl::StatusOr<Speaks> ask_listener(const std::string& address, std::chrono::milliseconds patience);

}  // namespace doppel::kafka
