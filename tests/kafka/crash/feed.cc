#include "kafka/crash/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace doppel::testing {
namespace {

constexpr uint64_t kWords = 24;  // changing one of them gives a near copy
constexpr uint64_t kLately = 400;
constexpr uint64_t kPart = 10'000;
constexpr std::chrono::milliseconds kTick(40);
constexpr double kCaughtUpS = 1;

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::string word(uint64_t random) {
  std::string out;
  for (int i = 0; i < 7; ++i, random /= 26) out += static_cast<char>('a' + random % 26);
  return out;
}

enum class Nature { original, exact, near, removal };

}  // namespace

Feed::Feed(const std::string& bootstrap, const std::string& topic, const FeedOptions& options)
    : options_(options), topic_(topic), client_(bootstrap, {{"linger.ms", "1"}}) {}

// A copy repeats a recent document, which a takeover may have lost, or any document.
Message Feed::make(uint64_t number) const {
  const auto random = [&](uint64_t n, uint64_t what) { return mixed(mixed(options_.seed + what) + n); };
  const auto nature = [&](uint64_t n) {
    const uint64_t share = n < options_.originals ? 0 : random(n, 1) % 100;
    return share < 40   ? Nature::original
           : share < 80 ? Nature::exact
           : share < 98 ? Nature::near
                        : Nature::removal;
  };
  const auto earlier = [&](uint64_t n) {
    uint64_t of = n - 1 - random(n, 2) % (random(n, 3) % 2 == 0 ? std::min(n, kLately) : n);
    while (of > 0 && nature(of) != Nature::original) --of;
    return of;
  };
  const Nature what = nature(number);
  const uint64_t of = what == Nature::original ? number : earlier(number);
  Message m;
  m.topic = topic_;
  m.key = fmt::format("k{}", what == Nature::removal ? of : number);
  m.partition = static_cast<int32_t>(mixed(number) % static_cast<uint64_t>(options_.partitions));
  if (what == Nature::removal) return m;
  std::string text;
  for (uint64_t i = 0; i < kWords; ++i) {
    const bool changed = what == Nature::near && i + 1 == kWords;
    text += word(random(changed ? number : of, 100 + i)) + ' ';
  }
  m.value =
      fmt::format(R"({{"id":"d{}","url":"https://site.example/{}","text":"{}"}})", number, number, text);
  return m;
}

void Feed::produce(uint64_t count) {
  std::vector<Message> some;
  for (const uint64_t end = next_ + count; next_ < end; ++next_) some.push_back(make(next_));
  client_.produce(topic_, some);
  const std::lock_guard lock(mutex_);
  for (const auto& [place, end] : ends_of(some, some.size())) ends_[place] = std::max(ends_[place], end);
}

void Feed::produce_originals() {
  while (next_ < options_.originals) produce(std::min(kPart, options_.originals - next_));
}

void Feed::start() {
  thread_ = std::thread([this] { run(); });
}

void Feed::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

// Sends all documents that are due, so that a late answer does not lower the rate. After an outage of the
// broker it sends only a part of the due ones.
void Feed::run() {
  const auto most = static_cast<uint64_t>(options_.rate * kCaughtUpS);
  try {
    for (auto last = std::chrono::steady_clock::now(); !stop_;) {
      std::this_thread::sleep_for(kTick);
      const auto now = std::chrono::steady_clock::now();
      const double due = options_.rate * std::chrono::duration<double>(now - last).count();
      last = now;
      produce(std::clamp<uint64_t>(static_cast<uint64_t>(due), 1, most));
    }
  } catch (const std::exception& e) {
    const std::lock_guard lock(mutex_);
    failed_ = e.what();
  }
}

Offsets Feed::ends() {
  const std::lock_guard lock(mutex_);
  return ends_;
}

std::string Feed::failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

}  // namespace doppel::testing
