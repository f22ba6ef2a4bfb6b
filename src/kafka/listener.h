#pragma once
// What is behind an address: nothing, plain text, or TLS. Asked with bytes of our own, because a client's
// library sees only that a connection ended, and guesses.

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel::kafka {

enum class Speaks { plain, tls, neither };

// "a:1, [::1]:2" in addresses; a "PROTOCOL://" before is left out, a missing port is 9092. An error names
// kafka.brokers and the address that is none.
absl::StatusOr<std::vector<std::string>> split_brokers(std::string_view brokers);

// Unavailable: nobody listens there, and why.
absl::Status reach(const std::string& address, std::chrono::milliseconds patience);
// What a listener answers to a request in plain text, else to the first bytes of TLS. Writes nothing else.
absl::StatusOr<Speaks> ask_listener(const std::string& address, std::chrono::milliseconds patience);

}  // namespace doppel::kafka
