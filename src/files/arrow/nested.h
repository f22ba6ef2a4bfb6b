#pragma once
// The values of a column in a batch with all its children, and their JSON.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/arrow/batch.h"
#include "files/arrow/schema.h"

namespace doppel::arrow {

class NestedValues {
 public:
  // `field` must outlive the values. The error names the column.
  static absl::StatusOr<NestedValues> read(const Field& field, const BatchHead& head, const Body& body);

  const Values& values() const { return values_; }

  // Looks up `place` in the dictionary of a field.
  using Lookup = std::function<absl::Status(const Field&, const tables::Cell& place, tables::Cell& out)>;
  // i < values().size(). Stops once `out` is longer than `most`.
  absl::Status append(uint64_t i, const Lookup& lookup, uint64_t most, std::string& out) const;

 private:
  NestedValues(const Field& field, Values values) : field_(&field), values_(std::move(values)) {}
  absl::Status append_entries(uint64_t i, const Lookup& lookup, uint64_t most, std::string& out) const;

  const Field* field_;
  Values values_;
  std::vector<NestedValues> children_;
  std::vector<std::string> names_;  // of a structure: the JSON before the value of each child
};

}  // namespace doppel::arrow
