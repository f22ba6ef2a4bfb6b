#include "base/simd.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace doppel {
namespace {

Simd detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
                __builtin_cpu_supports("avx512vbmi2");
  return avx512 ? Simd::avx512 : avx2 ? Simd::avx2 : Simd::scalar;
#else
  return Simd::scalar;
#endif
}

Simd from_environment() {
  const char* setting = std::getenv("DOPPEL_SIMD");
  if (setting == nullptr) return simd_supported();
  for (Simd level : {Simd::scalar, Simd::avx2, Simd::avx512}) {
    if (simd_name(level) == setting) return std::min(level, simd_supported());
  }
  return simd_supported();
}

std::atomic<Simd>& current() {
  static std::atomic<Simd> level{from_environment()};
  return level;
}

}  // namespace

Simd simd_supported() {
  static const Simd level = detect();
  return level;
}

Simd simd_level() { return current().load(std::memory_order_relaxed); }

void force_simd(Simd level) { current().store(std::min(level, simd_supported()), std::memory_order_relaxed); }

std::string_view simd_name(Simd level) {
  switch (level) {
    case Simd::scalar:
      return "scalar";
    case Simd::avx2:
      return "avx2";
    case Simd::avx512:
      return "avx512";
  }
  return "?";
}

}  // namespace doppel
