#pragma once
// Finds out what listens at a broker's address: nothing, plain text or TLS. It sends bytes of its own,
// because the client library only sees that the connection closed and guesses why.

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel::kafka {

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
