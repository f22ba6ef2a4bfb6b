// Unpacks ICU's data (small_icu.py) before anything can ask ICU for a converter.

#include <zstd.h>

#include <cstddef>
#include <cstdlib>

extern "C" {
struct IcuData {
  const void* packed;
  size_t packed_size;
  void* data;
  size_t size;
};
extern const IcuData doppel_icu_data;
}

__attribute__((constructor)) static void unpack() {
  const IcuData& icu = doppel_icu_data;
  if (ZSTD_decompress(icu.data, icu.size, icu.packed, icu.packed_size) != icu.size) std::abort();
}
