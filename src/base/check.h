#pragma once
// Checks of doppel's own invariants, in production too. Use DOPPEL_CHECK for a condition that only a defect
// of doppel or of the machine's memory can break, and whose result would otherwise be stored. What an input,
// a disk, a peer or a setting can cause is an absl::Status.
//
//   DOPPEL_CHECK(seq == next, "numbers of originals ascend without gaps", seq, next);
//
// A check that holds costs one branch. One that fails ends the process at once:
//   1. Each living MarkIfBroken leaves its file, so that the next start knows.
//   2. One message goes to stderr: invariant, place, values, version, what to do, and what to send.
//   3. _exit(kBrokenExitCode): no destructor, no flush, no commit. What was committed before stays.
//
// None of this allocates or takes a lock. Any thread may fail; threads that fail later wait for the process
// to end.
//
// Builds with fuzz targets define DOPPEL_FUZZ: a fuzz target aborts instead, so that libFuzzer keeps the
// input.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace doppel {

inline constexpr int kBrokenExitCode = 70;  // EX_SOFTWARE

namespace check_internal {

struct Place {
  std::string_view what, condition, names, file;
  int line = 0;
};

class Value {
 public:
  Value(std::string_view text) : text_(text), kind_(Kind::text) {}  // NOLINT(google-explicit-constructor)
  Value(const char* text) : Value(std::string_view(text)) {}        // NOLINT(google-explicit-constructor)
  template <std::integral T>
  Value(T number)  // NOLINT(google-explicit-constructor)
      : number_(static_cast<uint64_t>(number)),
        kind_(std::signed_integral<T> && number < T{} ? Kind::negative : Kind::number) {}

 private:
  friend struct Failure;
  enum class Kind : uint8_t { text, number, negative };
  std::string_view text_;
  uint64_t number_ = 0;
  Kind kind_;
};

[[noreturn, gnu::cold, gnu::noinline]] void broken(const Place& place, std::initializer_list<Value> values);

}  // namespace check_internal

// If an invariant breaks during the lifetime of this object, the process leaves a file at `path`, whose first
// line names the invariant. At most eight objects at a time, with paths below 1,000 bytes; further ones have
// no effect.
class MarkIfBroken {
 public:
  explicit MarkIfBroken(std::string_view path);
  ~MarkIfBroken();
  MarkIfBroken(const MarkIfBroken&) = delete;
  MarkIfBroken& operator=(const MarkIfBroken&) = delete;

 private:
  int slot_ = -1;
};

}  // namespace doppel

// `what` states in words what must hold. The message shows the values with their expressions as names; they
// are evaluated only if the condition is false.
#define DOPPEL_CHECK(condition, what, ...)                                                      \
  do {                                                                                          \
    if (!(condition)) [[unlikely]]                                                              \
      ::doppel::check_internal::broken({what, #condition, "" #__VA_ARGS__, __FILE__, __LINE__}, \
                                       {__VA_ARGS__});                                          \
  } while (false)
