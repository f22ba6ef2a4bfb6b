#pragma once
// Host names with letters of all languages in ASCII, by IDNA 2003 (RFC 3490): archives name hosts by it.

#include <optional>
#include <string>
#include <string_view>

namespace doppel {

// "bücher.example" -> "xn--bcher-kva.example". Bytes that are no UTF-8 are left out. Nothing: a label is
// empty, too long, or has characters that no host may have.
std::optional<std::string> idna_host(std::string_view host);

}  // namespace doppel
