#include "index/print_lines.h"

namespace doppel {
namespace {

class Slots {
 public:
  explicit Slots(const PrintLine& line) : line_(line) {}
  uint32_t equal(uint64_t value) const {
    return bits([&](uint64_t entry) { return entry >> kPrintOrdinalBits == value; });
  }
  uint32_t behind(uint64_t lines) const {
    return bits([&](uint64_t entry) { return print_behind(entry) == lines; });
  }
  uint32_t nearer(uint64_t lines) const {
    return bits([&](uint64_t entry) { return print_behind(entry) < lines; });
  }
  uint32_t free() const {
    return bits([](uint64_t entry) { return entry == 0; });
  }

 private:
  template <typename Is>
  uint32_t bits(const Is& is) const {
    uint32_t out = 0;
    for (uint32_t i = 0; i < kPrintLineEntries; ++i) out |= (is(line_[i]) ? 1u : 0u) << i;
    return out;
  }
  const PrintLine& line_;
};

size_t take(PrintLine* /*lines*/, size_t /*n*/, uint64_t /*at*/, const PrintTaking& /*taking*/,
            uint64_t* /*entries*/, uint32_t* /*homes*/, size_t& taken) {
  taken = 0;
  return 0;
}

constexpr PrintLineKernels kScalar{find_in_lines<Slots>, put_in_lines<Slots>, take};

}  // namespace

const PrintLineKernels& print_line_kernels_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return kPrintLineKernelsAvx512;
  if (level == Simd::avx2) return kPrintLineKernelsAvx2;
#endif
  static_cast<void>(level);
  return kScalar;
}

}  // namespace doppel
