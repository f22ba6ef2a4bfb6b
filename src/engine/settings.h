#pragma once
// The settings that decide what an index is: its rule, its relations and its signatures. One table has for
// each of them its name, range and help, the option of `Index` that sets it, and the line that an index keeps
// of it. The settings file, the environment, flags, Python and the library all go by this table.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "doppel/index.h"
#include "engine/engine.h"
#include "engine/rule.h"

namespace doppel {

// Ranges. Those of the other settings are in the table. No range is written down twice.

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

// The values of settings with choices, in the order of their names in the table.
enum class Partial { report, duplicate };
enum class CutTexts { nothing, shares };
enum class OnUpdate { keep, replace };

struct IndexSettings {
  // The rule that decides which documents are copies.
  double threshold = 0.8;
  double recall = 0.995;  // target probability that a pair at the threshold shares a band
  Verify verify = Verify::exact;
  int bands = 0;  // 0: chosen from threshold and recall
  int rows = 0;
  int max_listed = 256;
  int max_checks = 64;
  int64_t expire_after_ms = 0;  // in record time; 0: never
  uint64_t max_documents = 0;   // how many of the newest originals are kept; 0: all
  uint64_t max_memory = 0;      // bytes, from which max_documents follows; 0: no limit

  // Relations other than near: copies of a part.
  std::vector<std::string> relations = {"near"};  // near, contained, contains, shares, similar
  double containment = 0.8;
  double report_from = 0.6;
  int passage_words = 154;
  int common_after = 20;
  int max_related = 16;
  Partial partial = Partial::report;
  CutTexts cut = CutTexts::nothing;

  // The data scheme, on which signatures depend.
  int num_perm = 128;
  SketchFamily sketch = SketchFamily::fast;
  int shingle_words = 5;
  int min_shingles = 1;  // a document with fewer is only a copy of an equal text
  Normalisation normaliser = Normalisation::standard;
  uint64_t max_record = 1'000'000;  // bytes of an original's body; larger sets are not stored

  OnUpdate on_update = OnUpdate::keep;
};

// A member of Index::Options.
template <typename... Types>
using IndexOptionOf = std::variant<Types Index::Options::*...>;
using IndexOption =
    IndexOptionOf<std::optional<double>, std::optional<int>, std::optional<int64_t>, std::optional<bool>,
                  std::optional<std::string>, std::optional<std::vector<std::string>>, int, int64_t, bool,
                  std::vector<std::string>>;

struct IndexSetting {
  enum class Group : uint8_t { rule, relations, signatures, updates };
  enum class Kept : uint8_t { no, always, if_set };  // if_set: only if it is no default
  template <typename... Types>
  using MemberOf = std::variant<Types IndexSettings::*...>;
  using Member = MemberOf<double, int, int64_t, uint64_t, std::vector<std::string>, Verify, Partial, CutTexts,
                          SketchFamily, Normalisation, OnUpdate>;

  Group group;
  Limit limit;  // also the setting's name; `most` is 0 if it is no number
  Member member;
  Kept kept;  // whether an index has a line for it: name=value, or name_ppm= or name_ms= by the limit's unit
  std::optional<IndexOption> option;  // in milliseconds if the setting is; a bool means the second choice
  std::string_view help;
  std::string_view usual{};         // what people set, such as "0.5 to 0.95"
  std::string_view name_of_bool{};  // of the option, if it is a bool

  std::string_view name() const { return limit.name; }
  std::span<const std::string_view> choices() const;  // the names of an enum's values
};

std::span<const IndexSetting> index_settings();

// Scheme, rule and number of documents; all else has its default. An error names what is impossible.
// max_memory is left to the caller, because other buffers count too.
absl::StatusOr<EngineOptions> engine_options_of(const IndexSettings& settings, const HashKey& key);

std::string describe_rule(const Rule& rule);  // "name=value" lines

// The text of a value, as a person writes it: a number, a name, or names with commas; expire_after in
// milliseconds.
std::string text_of(const IndexSetting& setting, const IndexSettings& settings);
// Sets the value from such a text. Returns false if it is none; the range is not checked.
bool take_text(const IndexSetting& setting, std::string_view text, IndexSettings& out);

}  // namespace doppel
