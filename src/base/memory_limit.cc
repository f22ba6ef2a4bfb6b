#include "base/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

namespace doppel {
namespace {

std::atomic<int> g_exit_code{0};  // 0: abort

void no_memory() {
  if (MayFail::here()) throw std::bad_alloc();
  out_of_memory("its work");
}

std::terminate_handler g_terminate_before = nullptr;

[[noreturn]] void end_as_before() {
  if (g_terminate_before != nullptr) g_terminate_before();
  std::abort();
}

// The handler for uncaught exceptions: finds a thread that could not start, and a failed allocation.
[[noreturn]] void end_for_an_exception() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::resource_unavailable_try_again) out_of_memory("a thread");
    } catch (const std::bad_alloc&) {
      out_of_memory("its work");
    } catch (...) {  // not caused by a lack of memory
      end_as_before();
    }
  }
  end_as_before();
}

}  // namespace

thread_local int MayFail::depth_ = 0;

std::optional<uint64_t> address_space_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::optional<uint64_t> address_space_left() {
  const std::optional<uint64_t> limit = address_space_limit();
  if (!limit) return std::nullopt;
  unsigned long long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const uint64_t used = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return *limit - std::min(*limit, used);
}

void out_of_memory(std::string_view whose) {
  char text[256];
  const std::optional<uint64_t> limit = address_space_limit();
  // No allocation here: a std::string could allocate.
  char name[65] = {};
  whose.copy(name, sizeof name - 1);
  const int size =
      limit ? std::snprintf(text, sizeof text,
                            "doppel: the system refuses memory for %s: the limit of the address space is "
                            "%llu KiB (ulimit -v); raise it\n",
                            name, static_cast<unsigned long long>(*limit / 1024))
            : std::snprintf(text, sizeof text, "doppel: the system refuses memory for %s\n", name);
  if (::write(STDERR_FILENO, text, static_cast<size_t>(std::max(size, 0))) < 0) {
    // stderr has no reader.
  }
  const int code = g_exit_code.load();
  if (code == 0) std::abort();
  ::_exit(code);
}

void exit_without_memory(int exit_code) {
  g_exit_code.store(exit_code);
  std::set_new_handler(no_memory);
  g_terminate_before = std::set_terminate(end_for_an_exception);
}

}  // namespace doppel
