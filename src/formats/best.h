#pragma once
// What makes one copy of a document better than another: the setting output.best, and `scan --best`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/document.h"

namespace doppel {

// What an original's metadata keeps: a value, and by which setting it is one.
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

  // The value of a document as the decoder gives it; nullopt: it has none, so any value is better. Times are
  // milliseconds since 1970.
  std::optional<double> value_of(const Document& document) const;
  // Whether the document with this value is better. Of equal ones the earlier is.
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
