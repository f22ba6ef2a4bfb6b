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
#elif defined(__aarch64__)
  return Simd::neon;
#else
  return Simd::scalar;
#endif
}

Simd from_environment() {
  const char* setting = std::getenv("DOPPEL_SIMD");
  if (setting == nullptr) return simd_supported();
  for (const Simd level : simd_levels()) {
    if (simd_name(level) == setting) return level;
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

std::vector<Simd> simd_levels() {
#if defined(__aarch64__)
  return {Simd::scalar, Simd::neon};
#else
  std::vector<Simd> levels{Simd::scalar};
  for (const Simd level : {Simd::avx2, Simd::avx512}) {
    if (level <= simd_supported()) levels.push_back(level);
  }
  return levels;
#endif
}

Simd simd_level() { return current().load(std::memory_order_relaxed); }

void force_simd(Simd level) { current().store(std::min(level, simd_supported()), std::memory_order_relaxed); }

std::string_view simd_name(Simd level) {
  switch (level) {
    case Simd::scalar:
      return "scalar";
    case Simd::neon:
      return "neon";
    case Simd::avx2:
      return "avx2";
    case Simd::avx512:
      return "avx512";
  }
  return "?";
}

}  // namespace doppel
