#pragma once
// CRC32C (Castagnoli), by the processor's instruction where it has one, else by table.

#include <cstdint>
#include <string_view>

namespace doppel {

uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);

}  // namespace doppel
