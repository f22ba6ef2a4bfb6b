#pragma once
// Whether a topic is still the one that was read. A name says nothing: a topic may have been deleted and made
// again meanwhile, and a client may notice nothing of it. So the last record that was read is read again, and
// compared.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"

namespace doppel::kafka {

struct LastRead {
  Place place;
  int64_t offset = 0;
  int64_t timestamp_ms = -1;
  std::optional<uint32_t> checksum;  // of key and value; nullopt: not known
};

// Of key and value of a record.
uint32_t checksum_of(const Incoming& record);

enum class Same {
  yes,
  no,
  unknown,  // the record is gone, as retention and compaction remove records
};

class Witness {
 public:
  static absl::StatusOr<std::unique_ptr<Witness>> open(Cluster& cluster);

  // One answer for each, in order; each is true of a moment during the call. Unavailable: a broker does not
  // answer. NotFound: a topic is not there.
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
