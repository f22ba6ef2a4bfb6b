#pragma once
// Decides which of two copies of a document is better: the setting output.best, and `scan --best`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/document.h"

namespace doppel {

// The value that an original's metadata keeps, and the setting that it belongs to.
struct BestValue {
  uint32_t tag = 0;
  std::optional<double> value;
  bool operator==(const BestValue&) const = default;
};

class Best {
 public:
  // `text` is "longest" or "shortest" (by the text that is compared), "newest" or "oldest" (by the date), or
  // FIELD:max or FIELD:min (a number or a time). InvalidArgument otherwise.
  static absl::StatusOr<Best> parse(std::string_view text);

  // Returns the value of a decoded document; nullopt: it has none, so any value is better. Times are
  // milliseconds since 1970.
  std::optional<double> value_of(const Document& document) const;
  // Whether a document with this value is better than an earlier one. If both are equal, the earlier one
  // stays.
  bool better(std::optional<double> value, std::optional<double> than) const;
  // Tells values of different settings apart.
  uint32_t tag() const { return tag_; }
  // The field that has the value; empty: none.
  const std::string& field() const { return field_; }

 private:
  enum class By : uint8_t { length, date, field };
  Best(By by, bool smaller, uint32_t tag, std::string field = {})
      : by_(by), smaller_(smaller), tag_(tag), field_(std::move(field)) {}

  By by_;
  bool smaller_;
  uint32_t tag_;
  std::string field_;
};

}  // namespace doppel
