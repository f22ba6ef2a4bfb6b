#pragma once
// Reads events that doppel wrote (docs/events.md).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace doppel {

struct ReadRelation {
  std::string_view relation, cluster_id, original_id, original_date;
  uint32_t of_document_ppm = 0, of_original_ppm = 0;
};

struct ReadEvent {  // views are valid until the next read()
  // A verdict of a document with related originals counts as a partial copy.
  enum class Type { duplicate_of, partial_copy_of, original_removed, other };
  Type type = Type::other;
  std::string_view event_id, cluster_id, id, original_id, kind, reason;
  std::string_view date, original_date;  // ISO 8601; empty: there is none
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

// Groups captures with the same payload, as events connect them, and finds the earliest one of each group.
// Events call the capture that was read first an original; the events of several runs need not agree.
class PayloadGroups {
 public:
  using Key = uint64_t;  // identifies a capture
  // The time of the capture, in milliseconds; nullopt if unknown.
  struct Capture {
    Key key = 0;
    std::optional<int64_t> time_ms;
  };

  void tie(const Capture& copy, const Capture& original);

  // Returns the earliest capture of the group of `of`; among equals, the one that was an original first.
  // Unknown times are later than all others.
  Key earliest(Key of);

 private:
  struct Node {
    size_t above;
    Capture earliest;  // the earliest of the group; valid in the root only
  };
  size_t node(const Capture& capture);
  size_t top(size_t node);

  absl::flat_hash_map<Key, size_t> by_key_;
  std::vector<Node> nodes_;
};

}  // namespace doppel
