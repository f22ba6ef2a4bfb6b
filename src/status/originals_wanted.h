#pragma once
// Which originals a request means: one line, "id=ID", "event_id=ID", "tag=NAME=VALUE", or "any_id=ID" for
// what has it as its id or as its event_id.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "records/metadata.h"

namespace doppel {

class OriginalsWanted {
 public:
  // The error says what is right.
  static absl::StatusOr<OriginalsWanted> parse(std::string_view line);

  // What has it as its id or as its event_id.
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
