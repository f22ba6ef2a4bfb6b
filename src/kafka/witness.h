#pragma once
// Tells whether a topic is still the one that was read. Its name does not tell: somebody may have deleted the
// topic and created it again, and a client need not notice. The witness reads the last record again and
// compares it.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"

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

enum class Same {
  yes,
  no,
  unknown,  // the record is gone: retention or compaction removed it
};

class Witness {
 public:
  static absl::StatusOr<std::unique_ptr<Witness>> open(Cluster& cluster);

  // Returns one answer for each record, in order; each was true at some moment during the call. Unavailable:
  // a broker does not answer. NotFound: a topic does not exist.
  absl::StatusOr<std::vector<Same>> compare(std::span<const LastRead> records);

 private:
  Witness(Cluster& cluster, std::unique_ptr<Consumer> consumer)
      : cluster_(cluster), consumer_(std::move(consumer)) {}
  absl::Status read(std::span<const LastRead> records, std::vector<std::optional<Same>>& out);
  absl::Status find_outside(std::span<const LastRead> records, std::vector<std::optional<Same>>& out);

  Cluster& cluster_;
  std::unique_ptr<Consumer> consumer_;
};

}  // namespace doppel::kafka
