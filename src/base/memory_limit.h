#pragma once
// How much memory the system gives this process, and what happens if it refuses more.

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/status.h"

namespace doppel {

// The limit of the address space (ulimit -v), and how much of it is left; nullopt: there is no limit.
std::optional<uint64_t> address_space_limit();
std::optional<uint64_t> address_space_left();

// Ends the process with a message that names `whose` memory it was, and the limit of the address space.
// Writes nothing else. Any thread may call it.
[[noreturn]] void out_of_memory(std::string_view whose);

// Makes out_of_memory() end the process with this exit code instead of SIGABRT. From now on a failed `new`
// (unless MayFail is active) and a thread that cannot start end the process the same way. Programs call this;
// libraries leave it to their host.
void exit_without_memory(int exit_code);

// During its lifetime a failed `new` in this thread throws std::bad_alloc instead of ending the process. Use
// it for work whose size a stranger chose and that can be given up.
class MayFail {
 public:
  MayFail() { ++depth_; }
  ~MayFail() { --depth_; }
  MayFail(const MayFail&) = delete;
  MayFail& operator=(const MayFail&) = delete;
  static bool here() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

// Calls work(), which returns a Status. Returns that, or ResourceExhausted if memory was refused: a file can
// claim any size, which is an error of the file alone, and the process continues.
template <typename Work>
absl::Status within_memory(const Work& work) {
  const MayFail here;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    const std::optional<uint64_t> limit = address_space_limit();
    std::string why = "it takes more memory than there is";
    if (limit)
      why += " (the limit of the address space is " + std::to_string(*limit / 1024) + " KiB: ulimit -v)";
    return absl::ResourceExhaustedError(absl_sv(why));
  }
}

}  // namespace doppel
