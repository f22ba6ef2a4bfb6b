// The ranges of the table of settings, through the settings file.
#include "engine/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/keys.h"
#include "config/values.h"
#include "fmt/format.h"

namespace doppel {
namespace {

using testing::HasSubstr;

// Returns the value as a person writes it.
std::string written(const Limit& limit, int64_t value) {
  const std::string sign = value < 0 ? "-" : "";
  const int64_t size = std::abs(value);
  switch (limit.unit) {
    case Limit::Unit::one:
    case Limit::Unit::byte:
      return sign + std::to_string(size);
    case Limit::Unit::millisecond:
      return value == 0 ? "never" : sign + std::to_string(size) + "ms";
    case Limit::Unit::millionth:
      return fmt::format("{}{}.{:06}", sign, size / 1'000'000, size % 1'000'000);
  }
  return {};
}

absl::StatusOr<Config> load(const std::string& yaml) {
  const std::string path = testing::TempDir() + "/" + std::to_string(::getpid()) + "-limits.yaml";
  std::ofstream(path) << yaml;
  return load_config({path, {}, {}});
}

std::vector<Limit> all_limits() {
  std::vector<Limit> out{limits::kThreads, limits::kShards, limits::kMemory};
  for (const IndexSetting& setting : index_settings())
    if (setting.limit.most != 0) out.push_back(setting.limit);
  return out;
}

TEST(Limits, TheWholeTableHoldsInTheFile) {
  for (const Limit& limit : all_limits()) {
    SCOPED_TRACE(limit.name);
    ASSERT_NE(find_key(limit.name), nullptr);
    // Settings that must be set together with it.
    std::string others;
    if (limit.name == "bands") others = "rows: 1\nnum_perm: 1024\n";
    if (limit.name == "rows") others = "bands: 1\nnum_perm: 1024\n";
    if (limit.name == "threshold" || limit.name == "num_perm") others = "bands: 8\nrows: 1\n";
    for (const int64_t inside : {limit.least, limit.most}) {
      SCOPED_TRACE(inside);
      const bool chosen = inside == 0 && (limit.name == "bands" || limit.name == "rows");
      const absl::StatusOr<Config> config =
          load(fmt::format("{}: {}\n{}", limit.name, written(limit, inside), chosen ? "" : others));
      // A recall within its range may still be more than any bands reach: then the message is not about the
      // range.
      if (!config.ok()) {
        EXPECT_EQ(limit.name, "recall") << config.status();
        EXPECT_THAT(std::string(config.status().message()), HasSubstr("possible: recall"));
      }
    }
    for (const int64_t outside : {limit.least - 1, limit.most + 1}) {
      SCOPED_TRACE(outside);
      const absl::StatusOr<Config> config =
          load(fmt::format("{}: {}\n{}", limit.name, written(limit, outside), others));
      ASSERT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << config.status();
      EXPECT_THAT(std::string(config.status().message()), HasSubstr(fmt::format(":1: {}: ", limit.name)));
      if (outside >= 0 && limit.unit != Limit::Unit::millisecond) {
        EXPECT_THAT(std::string(config.status().message()), HasSubstr("is not between"));
      }
    }
  }
}

// `doppel config keys` shows the ranges of the table.
TEST(Limits, KeysShowTheRangeOfTheTable) {
  for (const Limit& limit : all_limits()) {
    std::string range;
    switch (limit.unit) {
      case Limit::Unit::one:
        range = fmt::format("integer, {} to {}", limit.least, limit.most);
        break;
      case Limit::Unit::millionth:
        range = fmt::format("number, {} to {}", write_millionths(limit.least), write_millionths(limit.most));
        break;
      case Limit::Unit::byte:
        range = fmt::format("size, {} to {}", write_size(limit.least), write_size(limit.most));
        break;
      case Limit::Unit::millisecond:
        continue;
    }
    EXPECT_EQ(find_key(limit.name)->info.type, range) << limit.name;
  }
}

}  // namespace
}  // namespace doppel
