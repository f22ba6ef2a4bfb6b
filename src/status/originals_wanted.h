#pragma once
// Selects originals by one line: "id=ID", "event_id=ID", "tag=NAME=VALUE", or "any_id=ID" for originals that
// have ID as id or as event_id.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "records/metadata.h"

namespace doppel {

class OriginalsWanted {
 public:
  // The error says which lines are valid.
  static absl::StatusOr<OriginalsWanted> parse(std::string_view line);

  // Selects the originals that have `id` as id or as event_id.
  static OriginalsWanted any_id(std::string_view id) { return {By::any_id, id}; }

  bool fits(const Metadata& metadata) const;
  std::string line() const;

 private:
  enum class By { id, event_id, any_id, tag };
  OriginalsWanted(By by, std::string_view value) : by_(by), value_(value) {}

  By by_;
  std::string value_;
};

}  // namespace doppel
