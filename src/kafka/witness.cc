#include "kafka/witness.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr std::chrono::seconds kPatience(3);
constexpr int kWaitMs = 50;

Same same(const LastRead& last, const Incoming& record) {
  if (record.end && record.offset <= last.offset) return Same::no;
  if (record.offset > last.offset) return Same::unknown;  // compaction has removed it
  const bool equal =
      record.timestamp_ms == last.timestamp_ms && (!last.checksum || *last.checksum == checksum_of(record));
  return equal ? Same::yes : Same::no;
}

}  // namespace

uint32_t checksum_of(std::string_view key, std::string_view value) { return crc32c(value, crc32c(key)); }

absl::StatusOr<std::unique_ptr<Witness>> Witness::open(Cluster& cluster) {
  ASSIGN_OR_RETURN(std::unique_ptr<Consumer> consumer,
                   cluster.consumer({.group = "doppel-witness", .ends = true, .single_records = true}));
  return std::unique_ptr<Witness>(new Witness(cluster, std::move(consumer)));
}

absl::StatusOr<std::vector<Same>> Witness::compare(std::span<const LastRead> records) {
  std::vector<std::optional<Same>> found(records.size());
  std::vector<Consumer::Assignment> assigned;
  assigned.reserve(records.size());
  for (size_t i = 0; i < records.size(); ++i)
    assigned.push_back(
        {.place = records[i].place, .from = records[i].offset, .tag = static_cast<uint32_t>(i)});
  RETURN_IF_ERROR(consumer_->assign(assigned));
  const absl::Status status = read(records, found);
  consumer_->unassign();
  RETURN_IF_ERROR(status);
  std::vector<Same> out;
  out.reserve(found.size());
  for (const std::optional<Same>& f : found) out.push_back(*f);
  return out;
}

absl::Status Witness::read(std::span<const LastRead> records, std::vector<std::optional<Same>>& out) {
  const auto deadline = Clock::now() + kPatience;
  std::vector<Incoming> incoming;
  while (std::any_of(out.begin(), out.end(), [](const auto& same) { return !same; })) {
    incoming.clear();
    const absl::Status polled = consumer_->poll(records.size(), kWaitMs, incoming);
    for (const Incoming& r : incoming) {
      if (!out[r.tag]) out[r.tag] = same(records[r.tag], r);
    }
    consumer_->release(incoming);
    if (absl::IsOutOfRange(polled)) {  // the error does not say which partition
      RETURN_IF_ERROR(find_outside(records, out));
    } else if (!absl::IsUnavailable(polled)) {
      RETURN_IF_ERROR(polled);
    }
    if (Clock::now() > deadline) {
      return absl::UnavailableError(
          fmt::format("the last record read from {} could not be read again", records.front().place.topic));
    }
  }
  return absl::OkStatus();
}

// Answers for partitions that end before the record or begin behind it.
absl::Status Witness::find_outside(std::span<const LastRead> records, std::vector<std::optional<Same>>& out) {
  for (size_t i = 0; i < records.size(); ++i) {
    if (out[i]) continue;
    ASSIGN_OR_RETURN(const Watermarks marks, cluster_.watermarks(records[i].place, Isolation::committed));
    if (marks.high <= records[i].offset) out[i] = Same::no;
    if (marks.low > records[i].offset) out[i] = Same::unknown;
  }
  return absl::OkStatus();
}

}  // namespace doppel::kafka
