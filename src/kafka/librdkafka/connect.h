#pragma once
// Connects to a real cluster, and checks the properties of its clients.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace doppel::kafka {

class Cluster;

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

}  // namespace doppel::kafka
