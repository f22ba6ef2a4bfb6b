#include "formats/schema/record_schema.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace doppel {
namespace {

class Refused final : public RecordSchema {
 public:
  explicit Refused(std::string reason) : reason_(std::move(reason)) {}
  absl::Status to_json(std::string_view, std::string&) const override { return invalid(reason_); }

 private:
  std::string reason_;
};

}  // namespace

size_t most_json(size_t data_bytes) {
  constexpr size_t kLeast = 4 << 20, kGrowth = 64, kMost = 256 << 20;
  return data_bytes > kMost / kGrowth ? std::max(kMost, data_bytes * 2) : kLeast + kGrowth * data_bytes;
}

std::shared_ptr<const RecordSchema> refused_schema(std::string reason) {
  return std::make_shared<Refused>(std::move(reason));
}

bool is_schema_framed(std::string_view value, uint32_t* id) {
  if (value.size() < kSchemaFrame || value[0] != '\0') return false;
  if (id == nullptr) return true;
  *id = 0;
  for (size_t i = 1; i < kSchemaFrame; ++i) *id = *id << 8 | static_cast<uint8_t>(value[i]);
  return true;
}

}  // namespace doppel
