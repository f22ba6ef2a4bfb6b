#pragma once
// Converts host names in any script to ASCII by IDNA 2003 (RFC 3490), as archives do.

#include <optional>
#include <string>
#include <string_view>

namespace doppel {

// "bücher.example" -> "xn--bcher-kva.example". Skips bytes that are not UTF-8. Returns nullopt if a label is
// empty, too long, or contains prohibited characters.
std::optional<std::string> idna_host(std::string_view host);

}  // namespace doppel
