#pragma once
// Reads events that doppel wrote (docs/events.md).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace doppel {

struct ReadRelation {
  std::string_view relation, cluster_id, original_id;
  uint32_t of_document_ppm = 0, of_original_ppm = 0;
};

struct ReadEvent {  // views are valid until the next read()
  // A verdict of a document with related originals counts as a partial copy.
  enum class Type { duplicate_of, partial_copy_of, original_removed, other };
  Type type = Type::other;
  std::string_view event_id, cluster_id, id, original_id, kind, reason;
  uint32_t similarity_ppm = 0;
  std::vector<ReadRelation> relations;  // of a partial copy
};

class EventReader {
 public:
  EventReader();
  ~EventReader();
  // Reads one line. An error names the member that is missing or wrong. An unknown type of event is not an
  // error: it is `other`.
  absl::Status read(const std::string& line, ReadEvent& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
