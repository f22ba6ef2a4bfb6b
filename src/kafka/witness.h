#pragma once
// Reads records again that were read before, and tells what is at their places now (same_topic.h says why).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"
#include "kafka/same_topic.h"

namespace doppel::kafka {

struct LastRead {
  Place place;
  int64_t offset = 0;
  int64_t timestamp_ms = -1;
  std::optional<uint32_t> checksum;  // checksum_of() the record; nullopt: unknown
};

// Covers key and value.
uint32_t checksum_of(std::string_view key, std::string_view value);
inline uint32_t checksum_of(const Incoming& record) {
  return checksum_of(record.key.value_or(std::string_view()), record.value);
}

class Witness {
 public:
  static absl::StatusOr<std::unique_ptr<Witness>> open(Cluster& cluster);

  // Returns one answer for each record, in order; each was true at some moment during the call. The records
  // are of different partitions. Unavailable: a broker does not answer. NotFound: a topic does not exist.
  absl::StatusOr<std::vector<Found>> compare(std::span<const LastRead> records);

 private:
  Witness(Cluster& cluster, std::unique_ptr<Consumer> consumer)
      : cluster_(cluster), consumer_(std::move(consumer)) {}
  absl::Status read(std::span<const LastRead> records, std::vector<std::optional<Found>>& out);
  absl::Status find_outside(std::span<const LastRead> records, std::vector<std::optional<Found>>& out);
  absl::StatusOr<bool> is_compacted(const std::string& topic);

  Cluster& cluster_;
  std::unique_ptr<Consumer> consumer_;
};

}  // namespace doppel::kafka
