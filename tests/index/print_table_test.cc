// The table of prints against a map, through growth, removal, expiry and reuse.
#include "index/print_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/simd.h"

namespace doppel {
namespace {

struct Slow {
  std::map<uint64_t, std::set<uint64_t>> listers;
  std::set<uint64_t> removed;
  uint64_t low = 0;

  std::vector<uint64_t> of(uint64_t print) const {
    std::vector<uint64_t> out;
    const auto at = listers.find(print);
    if (at == listers.end()) return out;
    for (const uint64_t number : at->second)
      if (number >= low && !removed.contains(number)) out.push_back(number);
    return out;
  }
};

uint64_t random_print(std::mt19937_64& random) {
  const uint64_t print = random() >> (64 - kPrintBits);
  return static_cast<uint32_t>(print) == 0 ? print | 1 : print;
}

void compare(const PrintTable& table, const Slow& slow, uint64_t print, std::mt19937_64& random) {
  const std::vector<uint64_t> expected = slow.of(print);
  const auto most = static_cast<uint32_t>(random() % 30);
  const uint32_t count_most = most + 1 + static_cast<uint32_t>(random() % 300);
  PrintsFound found;
  // Asks for it among other prints, at any place.
  std::vector<uint64_t> asked(random() % 12);
  for (uint64_t& other : asked) other = random_print(random);
  const size_t place = random() % (asked.size() + 1);
  asked.insert(asked.begin() + static_cast<ptrdiff_t>(place), print);
  table.find(asked, most, count_most, found);
  PrintListing listing;
  for (size_t i = 0; i < found.listings.size(); ++i) {
    if (i != 0) {
      ASSERT_LT(found.listings[i - 1].asked, found.listings[i].asked);
    }
    ASSERT_NE(found.listings[i].count, 0u);
    if (found.listings[i].asked == place) listing = found.listings[i];
  }
  ASSERT_EQ(listing.count, std::min<size_t>(expected.size(), count_most)) << print;
  std::vector<uint64_t> numbers(found.numbers.begin() + listing.begin, found.numbers.begin() + listing.end);
  std::sort(numbers.begin(), numbers.end());
  ASSERT_EQ(numbers, expected.size() <= most ? expected : std::vector<uint64_t>());
}

void live(uint64_t seed, uint64_t start, bool expires) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  PrintTable table(nullptr);
  Slow slow;
  table.start_at(start);
  slow.low = start;
  uint64_t next = start;
  std::vector<uint64_t> hot(20), seen;
  for (uint64_t& print : hot) print = random_print(random);
  // More than the first lines hold, several times.
  for (int step = 0; step < 9'000; ++step) {
    std::vector<uint64_t> prints(random() % 8 == 0 ? random() % 200 : random() % 20);
    for (uint64_t& print : prints)
      print = random() % 30 == 0 ? hot[random() % hot.size()] : random_print(random);
    if (random() % 4 == 0 && !prints.empty()) prints.front() += 1;  // a neighbour
    std::sort(prints.begin(), prints.end());
    prints.erase(std::unique(prints.begin(), prints.end()), prints.end());
    table.insert(prints);
    for (const uint64_t print : prints) {
      slow.listers[print].insert(next);
      seen.push_back(print);
    }
    ++next;
    if (random() % 5 == 0) {
      const uint64_t gone = next - 1 - random() % std::min<uint64_t>(next - start, 3'000);
      if (gone >= slow.low && slow.removed.insert(gone).second) {
        table.remove(gone);
        if (random() % 4 == 0) {
          table.revive(gone);
          slow.removed.erase(gone);
        }
      }
    }
    if (expires && next - slow.low > 2'000 && random() % 40 == 0) {
      slow.low = next - 1'000 - random() % 1'000;
      table.expire_below(slow.low);
    }
    if (step % 20 == 0 && !seen.empty()) {
      compare(table, slow, hot[random() % hot.size()], random);
      compare(table, slow, seen[random() % seen.size()], random);
      compare(table, slow, random_print(random), random);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const auto& [print, numbers] : slow.listers) {
    compare(table, slow, print, random);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (uint64_t number = start; number < next; ++number)
    ASSERT_EQ(table.prints_of(number) == 0 || (number >= slow.low && !slow.removed.contains(number)), true);
}

class PrintTableTest : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override { force_simd(GetParam()); }
  void TearDown() override { force_simd(simd_supported()); }
};
INSTANTIATE_TEST_SUITE_P(EachLevel, PrintTableTest, testing::ValuesIn(simd_levels()),
                         [](const auto& level) { return std::string(simd_name(level.param)); });

TEST_P(PrintTableTest, FindsWhatLivesAndListsAPrint) {
  std::random_device device;
  live(device(), 0, false);
  live(device(), 1'000'000, true);
  live(device(), (uint64_t{1} << 28) - 3'000, true);  // ordinals begin again
}

// While a table grows, a part of it has its new lines already. No print is lost meanwhile. With crowds, many
// prints have the same home.
void find_all_at_each_step(int crowds) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<uint64_t> crowded(static_cast<size_t>(crowds));
  for (uint64_t& print : crowded) print = random_print(random);
  const auto next_print = [&] {
    if (crowded.empty() || random() % 4 != 0) return random_print(random);
    constexpr uint64_t kOther = (uint64_t{1} << 28) - 1;
    return (crowded[random() % crowded.size()] & ~kOther) | (random() & kOther);
  };
  PrintTable table(nullptr);
  std::vector<uint64_t> all;
  PrintsFound found;
  // A pass begins at some 1,600 originals, and takes 60 inserts.
  int steps = 0;
  for (int number = 0; steps < 100; ++number) {
    ASSERT_LT(number, 2'500) << "no pass has begun";
    std::vector<uint64_t> prints(18);
    for (uint64_t& print : prints) print = next_print();
    std::sort(prints.begin(), prints.end());
    prints.erase(std::unique(prints.begin(), prints.end()), prints.end());
    const uint64_t bytes = table.bytes();
    table.insert(prints);
    all.insert(all.end(), prints.begin(), prints.end());
    if (table.bytes() > bytes + 100'000 || steps != 0) ++steps;
    if (steps == 0 && number % 100 != 0) continue;
    table.find(all, 0, 1, found);
    ASSERT_EQ(found.listings.size(), all.size()) << "after " << number;
  }
}

TEST_P(PrintTableTest, FindsAllAtEachStepOfItsGrowth) {
  ASSERT_NO_FATAL_FAILURE(find_all_at_each_step(0));
  find_all_at_each_step(40);
}

// Only a table of more than 61,000 lines is moved by kernels, as long as nobody is removed. Ordinals begin
// again meanwhile, and originals expire.
TEST_P(PrintTableTest, FindsAllInALargeTable) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr uint64_t kEach = 18, kOriginals = 70'000, kLive = 50'000;
  const uint64_t start = (uint64_t{1} << kPrintOrdinalBits) - 60'000;
  PrintTable table(nullptr);
  table.start_at(start);
  std::vector<uint64_t> all;  // of the original i from i * kEach on
  PrintsFound found;
  const auto find = [&](uint64_t from, uint64_t to) {
    table.find(std::span(all).subspan(from * kEach, (to - from) * kEach), 30, 31, found);
    ASSERT_EQ(found.listings.size(), (to - from) * kEach);
    for (const PrintListing& listing : found.listings) {
      const std::span<const uint64_t> numbers(found.numbers.begin() + listing.begin,
                                              found.numbers.begin() + listing.end);
      ASSERT_EQ(std::count(numbers.begin(), numbers.end(), start + from + listing.asked / kEach), 1);
    }
  };
  for (uint64_t number = 0; number < kOriginals; ++number) {
    for (uint64_t i = 0; i < kEach; ++i) all.push_back(random_print(random));
    table.insert(std::span(all).last(kEach));
    const uint64_t low = number + 1 > kLive ? number + 1 - kLive : 0;
    table.expire_below(start + low);
    const uint64_t some = low + random() % (number + 1 - low);
    ASSERT_NO_FATAL_FAILURE(find(some, std::min(some + 2, number + 1))) << "after " << number;
    if (number % 10'000 == 9'999) {
      ASSERT_NO_FATAL_FAILURE(find(low, number + 1)) << "after " << number;
    }
  }
}

// By how much a table with 3,000 originals of so many prints grows while `go` ends one for each that comes.
template <typename Go>
double growth(size_t each, uint64_t originals, const Go& go) {
  std::mt19937_64 random(3);
  PrintTable table(nullptr);
  uint64_t bytes = 0;
  for (uint64_t number = 0; number < originals; ++number) {
    std::vector<uint64_t> prints(each);
    for (uint64_t& print : prints) print = random_print(random);
    table.insert(prints);
    if (number > 3'000) go(table, number - 3'000);
    if (number == 6'000) bytes = table.bytes();
  }
  return static_cast<double>(table.bytes()) / static_cast<double>(bytes);
}

TEST_P(PrintTableTest, StaysSmallWhereEverythingExpires) {
  EXPECT_LE(growth(18, 60'000, [](PrintTable& table, uint64_t number) { table.expire_below(number); }), 1.5);
}

// Large enough for the fast way to move lines, which does not know who is removed.
TEST_P(PrintTableTest, StaysSmallWhereEverythingIsRemoved) {
  EXPECT_LE(growth(200, 15'000, [](PrintTable& table, uint64_t number) { table.remove(number); }), 1.5);
}

TEST_P(PrintTableTest, IsFullWithoutWaste) {
  std::mt19937_64 random(3);
  PrintTable table(nullptr);
  double most = 0, least = 1;
  for (uint64_t number = 0; number < 60'000; ++number) {
    std::vector<uint64_t> prints(18);
    for (uint64_t& print : prints) print = random_print(random);
    table.insert(prints);
    if (number < 40'000) continue;
    most = std::max(most, table.load());
    least = std::min(least, table.load());
  }
  EXPECT_LT(most, 0.97);
  EXPECT_GT(least, 0.74);
}

}  // namespace
}  // namespace doppel
