#include "kafka/open_transactions.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "formats/decoder.h"

namespace doppel::kafka {
namespace {

constexpr std::chrono::seconds kLong(30);
constexpr std::chrono::minutes kSayAgain(10);
constexpr std::chrono::seconds kPatience(3);  // for the record that begins it
constexpr int kWaitMs = 50;

// -1: not known in time.
absl::StatusOr<int64_t> timestamp_at(Cluster& cluster, const Place& place, int64_t offset) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Consumer> consumer,
      cluster.consumer(
          {.group = "doppel-witness", .isolation = Isolation::uncommitted, .single_records = true}));
  RETURN_IF_ERROR(consumer->assign({{.place = place, .from = offset}}));
  std::vector<Incoming> incoming;
  for (const auto deadline = Clock::now() + kPatience; Clock::now() < deadline;) {
    const absl::Status polled = consumer->poll(1, kWaitMs, incoming);
    const int64_t out = incoming.empty() ? -1 : incoming.front().timestamp_ms;
    const bool found = !incoming.empty();
    consumer->release(incoming);
    incoming.clear();
    if (found) return out;
    if (!absl::IsUnavailable(polled)) RETURN_IF_ERROR(polled);
  }
  return -1;
}

}  // namespace

std::string OpenTransaction::text() const {
  return fmt::format(
      "a transaction of a producer is open since {} at {}/{} offset {}; {} records wait behind its beginning "
      "until it is committed, aborted, or older than the producer's transaction.timeout.ms",
      since_ms < 0 ? "an unknown time" : format_time(since_ms), place.topic, place.partition, offset, behind);
}

absl::StatusOr<std::optional<OpenTransaction>> open_transaction(Cluster& cluster, const Place& place) {
  ASSIGN_OR_RETURN(const Watermarks committed, cluster.watermarks(place, Isolation::committed));
  ASSIGN_OR_RETURN(const Watermarks all, cluster.watermarks(place, Isolation::uncommitted));
  if (committed.high >= all.high) return std::nullopt;
  OpenTransaction out{.place = place, .offset = committed.high, .behind = all.high - committed.high};
  ASSIGN_OR_RETURN(out.since_ms, timestamp_at(cluster, place, out.offset));
  return out;
}

std::vector<Place> HeldUp::look(const ConsumerStatistics& now, Clock::time_point at) {
  std::map<Place, Since> still;
  std::vector<Place> out;
  for (const ConsumerStatistics::Partition& p : now.partitions) {
    if (p.stable < 0 || p.written <= p.stable || p.queued != 0 || p.fetched < p.stable) continue;
    Place place{p.topic, p.partition};
    const auto before = held_.find(place);
    const bool same = before != held_.end() && before->second.offset == p.stable;
    Since& since = still[place] = same ? before->second : Since{.offset = p.stable, .since = at};
    if (at - since.since < kLong || (since.said && at - *since.said < kSayAgain)) continue;
    since.said = at;
    out.push_back(std::move(place));
  }
  held_.swap(still);
  return out;
}

}  // namespace doppel::kafka
