#pragma once
// Events that doppel wrote (docs/events.md), read again.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel {

struct ReadEvent {  // views are valid until the next read()
  enum class Type { duplicate_of, original_removed, other };
  Type type = Type::other;
  std::string_view event_id, cluster_id, id, original_id, kind, reason;
  uint32_t similarity_ppm = 0;
};

class EventReader {
 public:
  EventReader();
  ~EventReader();
  // One line. An error says which member is not what it should be; types of events that are not known are
  // `other`.
  absl::Status read(const std::string& line, ReadEvent& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
