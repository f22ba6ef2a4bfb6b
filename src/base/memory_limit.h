#pragma once
// What the system gives this process of memory, and what happens when it gives no more.

#include <cstdint>
#include <optional>
#include <string_view>

namespace doppel {

// How much address space the process may have (ulimit -v), and may still take; nothing: there is no limit.
std::optional<uint64_t> address_space_limit();
std::optional<uint64_t> address_space_left();

// Ends the process with a message that names `whose` memory it was, and the limit of the address space.
// Nothing is written after that. Any thread may call it.
[[noreturn]] void out_of_memory(std::string_view whose);

// From now on out_of_memory() ends the process with this exit code, not by SIGABRT, and so do `new`, except
// where MayFail lives, and a thread that cannot start. For programs; libraries leave it to their host.
void exit_without_memory(int exit_code);

// While it lives, `new` throws std::bad_alloc in this thread in place of ending the process: for work whose
// size a stranger has chosen, and which can be given up.
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

}  // namespace doppel
