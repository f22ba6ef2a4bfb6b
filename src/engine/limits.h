#pragma once
// Ranges of settings, and the messages about values outside of them. The ranges that only the table of
// settings needs are there (settings.h). No range is written down twice.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel {

struct Limit {
  enum class Unit : uint8_t { one, millionth, byte, millisecond };

  std::string_view name;  // of the setting
  int64_t least = 0;
  int64_t most = 0;
  Unit unit = Unit::one;  // of least and most
};

namespace limits {

// The rule.
inline constexpr Limit kThreshold{"threshold", 1, 1'000'000, Limit::Unit::millionth};
inline constexpr Limit kRecall{"recall", 1, 999'999, Limit::Unit::millionth};
// A thousand years.
inline constexpr Limit kExpireAfter{"expire_after", 0, int64_t{365'000} * 86'400'000,
                                    Limit::Unit::millisecond};
// The index numbers live originals with 28 bits.
inline constexpr Limit kMaxDocuments{"max_documents", 0, 250'000'000};
inline constexpr Limit kReportFrom{"report_from", 1, 1'000'000, Limit::Unit::millionth};

// Signatures.
inline constexpr Limit kNumPerm{"num_perm", 8, 1024};
inline constexpr Limit kBands{"bands", 0, kNumPerm.most};  // 0: chosen
inline constexpr Limit kRows{"rows", 0, kNumPerm.most};
inline constexpr Limit kShingleWords{"shingle_words", 1, 64};

// Work.
inline constexpr Limit kThreads{"threads", 0, 1024};  // 0: one for each processor
inline constexpr Limit kShards{"shards", 1, 256};
inline constexpr Limit kMemory{"memory", 0, int64_t{1} << 50, Limit::Unit::byte};
// Each band has a table in each shard, and each table uses some of the 65,530 mappings that Linux allows a
// process.
inline constexpr int64_t kTablesMost = 8192;

}  // namespace limits

// "between 8 and 1024", in the unit that people write: a fraction for millionths.
std::string range_of(const Limit& limit);
// Returns InvalidArgument unless the value is in the range: "num_perm: 4 is not between 8 and 1024". `name`
// is the caller's name for the option, if it is not the name of the setting.
absl::Status within(const Limit& limit, int64_t value, std::string_view name = {});
// Returns InvalidArgument if these bands and shards need more than kTablesMost tables.
absl::Status within_tables(int64_t bands, int64_t shards);
// Like within(), for an option of unit millionth whose value is given as a fraction. NaN is in no range.
absl::Status within_number(const Limit& limit, double value);

}  // namespace doppel
