#pragma once
// What an earlier process committed, and the broker forgot to mark (docs/adr/0017): read by a start, so that
// it can be published again.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kafka/cluster.h"
#include "kafka/outbox.h"
#include "kafka/visibility.h"

namespace doppel::kafka {

// A dead letter of a topic that was made again says which one it came from.
inline constexpr std::string_view kIncarnationHeader = "doppel.incarnation";

struct InputPlace {
  std::string topic;
  int32_t partition = 0;
  uint32_t incarnation = 1;
  int64_t offset = 0;
};
// Whether the index log, as far as readers see it, covers the document at this place of the input.
using Covers = std::function<bool(const InputPlace&)>;
inline bool covers(const LogProgress& progress, const InputPlace& place) {
  return place.incarnation < progress.incarnation ||
         (place.incarnation == progress.incarnation && place.offset < progress.next);
}

struct Hanging {
  bool log_is_whole = false;  // the log hangs, with whole batches: our next record there makes them seen
  std::vector<Place> drop;    // where an abort of ours must decide
};

// Appends to `committed` the records that hang in `places` and that a transaction had committed, with the
// places where they are stored. If the log hangs, its batches decide: whole ones were committed, a part was
// aborted. Otherwise a record was committed if the log covers the document that it is about; of one that does
// not name a document this is assumed. Call it while no transaction of ours is open.
absl::StatusOr<Hanging> read_hanging(Cluster& cluster, const Place& log, const std::vector<Place>& places,
                                     const Covers& covers, Outbox& committed);

// Another process than `us` that claims the log with a whole batch that hangs there. Its claim may be
// committed, with records in other topics that readers see.
absl::StatusOr<std::optional<std::string>> hanging_claim(Cluster& cluster, const Place& log,
                                                         const std::string& us);

}  // namespace doppel::kafka
