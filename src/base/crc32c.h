#pragma once
// CRC32C (Castagnoli), with the processor's instruction if it has one, otherwise with a table.

#include <cstdint>
#include <string_view>

namespace doppel {

uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);

}  // namespace doppel
