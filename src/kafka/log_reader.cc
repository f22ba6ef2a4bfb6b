#include "kafka/log_reader.h"

#include <fmt/format.h>

#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr int kWaitMs = 10;                   // how long a poll waits for more messages
constexpr std::chrono::seconds kSilence(60);  // without a record before the end; then it is an error
constexpr size_t kMessages = 1'000;           // per poll

}  // namespace

absl::StatusOr<LogReader> LogReader::open(Cluster& cluster, const TopicPartition& place,
                                          Isolation isolation) {
  ASSIGN_OR_RETURN(std::unique_ptr<Consumer> consumer, cluster.consumer({.group = "doppel-index-log",
                                                                         .isolation = isolation,
                                                                         .ends = true,
                                                                         .queue_bytes = 256 << 20,
                                                                         .check_crcs = true}));
  return LogReader(cluster, place, isolation, std::move(consumer));
}

absl::Status LogReader::read(int64_t from, int64_t to, const Visit& visit, bool with_headers) {
  if (from >= to) return absl::OkStatus();
  RETURN_IF_ERROR(consumer_->assign({{.place = place_, .from = from, .tag = 0}}));
  std::vector<Incoming> records;
  std::vector<Header> headers;
  absl::Status status;
  Clock::time_point last = Clock::now();
  for (bool done = false; !done && status.ok();) {
    records.clear();
    status = consumer_->poll(kMessages, kWaitMs, records);
    if (absl::IsUnavailable(status)) status = absl::OkStatus();  // the consumer recovers by itself
    if (!records.empty()) {
      last = Clock::now();
    } else if (status.ok() && Clock::now() - last > kSilence) {
      status =
          absl::UnavailableError(fmt::format("{}/{}: no record for {} s, with {} left to read", place_.topic,
                                             place_.partition, kSilence.count(), to - from));
    }
    for (const Incoming& r : records) {
      if (done || (r.end && r.offset < to)) continue;
      done = r.offset >= to;
      if (done) continue;
      headers.clear();
      if (with_headers) consumer_->headers(r, headers);
      const absl::Status visited = visit({.key = r.key.value_or(std::string_view()),
                                          .value = r.value,
                                          .has_key = r.key.has_value(),
                                          .has_value = !r.null_value,
                                          .offset = r.offset,
                                          .timestamp_ms = r.timestamp_ms,
                                          .headers = headers});
      if (!visited.ok()) {
        status = visited;
        break;
      }
      from = r.offset + 1;
      done = from >= to;
    }
    consumer_->release(records);
  }
  consumer_->unassign();
  if (absl::IsOutOfRange(status)) {
    return absl::OutOfRangeError(fmt::format("{}/{} holds nothing at offset {}: {}", place_.topic,
                                             place_.partition, from, std_sv(status.message())));
  }
  return status;
}

}  // namespace doppel::kafka
