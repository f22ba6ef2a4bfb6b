#pragma once
// What readers with isolation.level=read_committed see of the topics that we write.
//
// A broker answers a commit, and marks the transaction's records in their partitions after it. If it fails in
// between it may forget to (docs/adr/0017): then the records *hang*. They are seen with the next commit of
// the same transactional id in their partition, and lost with its next abort there.

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "stream/kafka/client.h"

namespace doppel::kafka {

class Visibility {
 public:
  static absl::StatusOr<Visibility> open(const ClientOptions& options);

  struct Partition {
    std::string topic;
    int32_t partition = 0;
  };

  // The end of what is seen, and the end of all that is stored.
  absl::StatusOr<int64_t> seen_to(const Partition& where);
  absl::StatusOr<int64_t> stored_to(const Partition& where);

  // The partitions of these topics with records that are not seen, nor will be within `patience`: they hang,
  // or somebody else's transaction is open there. Ask while none of ours is.
  absl::StatusOr<std::vector<Partition>> hanging(const std::set<std::string>& topics,
                                                 std::chrono::milliseconds patience);

  // Whether a reader sees one of these offsets (ascending), or would if it had not been deleted since.
  absl::StatusOr<bool> sees(const Partition& where, const std::vector<int64_t>& offsets);

 private:
  Visibility(ClientOptions options, Client committed, Client all)
      : options_(std::move(options)), committed_(std::move(committed)), all_(std::move(all)) {}

  ClientOptions options_;
  Client committed_, all_;
};

}  // namespace doppel::kafka
