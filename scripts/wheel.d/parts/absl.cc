// Three files of Abseil 20220623, written again for the wheel. In Debian's static library their code for
// thread-local variables works in programs only, not in an extension. The linker takes these definitions and
// leaves those files out.

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

#include "absl/base/internal/sysinfo.h"
#include "absl/container/internal/raw_hash_set.h"
#include "absl/strings/internal/cordz_functions.h"

static_assert(ABSL_LTS_RELEASE_VERSION == 20220623, "another release has other functions");

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace container_internal {

// One empty group behind a sentinel: what a table without memory of its own points to.
alignas(16) ABSL_CONST_INIT ABSL_DLL extern const ctrl_t kEmptyGroup[16] = {
    ctrl_t::kSentinel, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty};

template FindInfo find_first_non_full(const ctrl_t*, size_t, size_t);

// Abseil varies the place, so that nobody relies on an order. The address of the table does here.
bool ShouldInsertBackwards(size_t hash, const ctrl_t* ctrl) { return H1(hash, ctrl) % 13 > 6; }

void ConvertDeletedToEmptyAndFullToDeleted(ctrl_t* ctrl, size_t capacity) {
  for (ctrl_t* at = ctrl; at < ctrl + capacity; at += Group::kWidth)
    Group{at}.ConvertSpecialToEmptyAndFullToDeleted(at);
  std::memcpy(ctrl + capacity + 1, ctrl, NumClonedBytes());
  ctrl[capacity] = ctrl_t::kSentinel;
}

void HashTableSizeOverflow() { std::abort(); }

}  // namespace container_internal

namespace cord_internal {

// Abseil can watch a sample of its cords. Nobody asks for that here.
thread_local int64_t cordz_next_sample = std::numeric_limits<int64_t>::max();
bool cordz_should_profile_slow() { return false; }
void cordz_set_next_sample_for_testing(int64_t next_sample) { cordz_next_sample = next_sample; }
int32_t get_cordz_mean_interval() { return 0; }
void set_cordz_mean_interval(int32_t) {}

}  // namespace cord_internal

namespace base_internal {

int NumCPUs() {
  static const int count = static_cast<int>(std::thread::hardware_concurrency());
  return count;
}
double NominalCPUFrequency() { return 1.0; }  // as where Abseil does not know it
pid_t GetTID() { return static_cast<pid_t>(syscall(SYS_gettid)); }
pid_t GetCachedTID() {
  thread_local const pid_t id = GetTID();
  return id;
}

}  // namespace base_internal
ABSL_NAMESPACE_END
}  // namespace absl
