#pragma once
// How to reach a real cluster.

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
  // Any property of librdkafka. "consumer." or "producer." before the name: for these only.
  std::vector<std::pair<std::string, std::string>> properties;
  std::string client_id = "doppel";
};

// " (did you mean X?)", or nothing.
using Suggest = std::function<std::string(std::string_view name, const std::vector<std::string>& known)>;

// A line for each property that is wrong: unknown to this version of the library, impossible, not in this
// build, or one that would break what doppel promises. Nothing is sent.
absl::Status check_properties(const ClientOptions& options, const Suggest& suggest = nullptr);

std::string library_version();                                // "2.0.2"
std::string security_protocol(const ClientOptions& options);  // in capitals
std::string sasl_mechanism(const ClientOptions& options);     // empty: none was set

// Nothing is sent before the first call.
std::unique_ptr<Cluster> connect(ClientOptions options);

}  // namespace doppel::kafka
