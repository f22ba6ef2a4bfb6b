#pragma once
// Invariants of our own that are checked in production too. DOPPEL_CHECK is for what can only be false if
// doppel has a defect, or the machine's memory has: where going on would write the error down. What an input,
// a disk, a peer or a setting can cause is an absl::Status.
//
//   DOPPEL_CHECK(seq == next, "numbers of originals ascend without gaps", seq, next);
//
// A check that holds costs one branch. One that does not hold ends the process at once:
//   1. each MarkIfBroken that lives leaves its file, so that the next start knows;
//   2. one message goes to stderr: the invariant, the place, the values, the version, what to do and what to
//   send;
//   3. _exit(kBrokenExitCode): no destructor, no flush, no commit. What was committed before stays.
// Nothing of this allocates or takes a lock. Any thread may fail; those that fail later wait for the end.
//
// Builds for libFuzzer define DOPPEL_BROKEN_ABORTS: there the process aborts, so that the input is kept.

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

// While it lives, a broken invariant leaves `path` behind: a file whose first line says what was broken. At
// most eight at a time, and paths below 1,000 bytes: others leave nothing.
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

// `what` is what must hold, in words. The values are shown with their expressions as names; they are
// evaluated only where the condition is false.
#define DOPPEL_CHECK(condition, what, ...)                                                      \
  do {                                                                                          \
    if (!(condition)) [[unlikely]]                                                              \
      ::doppel::check_internal::broken({what, #condition, "" #__VA_ARGS__, __FILE__, __LINE__}, \
                                       {__VA_ARGS__});                                          \
  } while (false)
