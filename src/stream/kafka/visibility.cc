#include "stream/kafka/visibility.h"

#include <algorithm>
#include <thread>

#include "base/status.h"
#include "stream/kafka/log_reader.h"
#include "stream/kafka/topics.h"

namespace doppel::kafka {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAskMs = 2'000;  // for one question to the broker
constexpr std::chrono::milliseconds kStep(20);

absl::StatusOr<Client> asker(const ClientOptions& options, const std::string& isolation) {
  return make_consumer(options, {{"group.id", "doppel-visibility"},
                                 {"enable.auto.commit", "false"},
                                 {"enable.auto.offset.store", "false"},
                                 {"isolation.level", isolation}});
}

}  // namespace

absl::StatusOr<Visibility> Visibility::open(const ClientOptions& options) {
  ASSIGN_OR_RETURN(Client committed, asker(options, "read_committed"));
  ASSIGN_OR_RETURN(Client all, asker(options, "read_uncommitted"));
  return Visibility(options, std::move(committed), std::move(all));
}

absl::StatusOr<int64_t> Visibility::seen_to(const Partition& where) {
  ASSIGN_OR_RETURN(const Watermarks bounds,
                   watermarks(committed_.get(), where.topic, where.partition, kAskMs));
  return bounds.high;
}

absl::StatusOr<int64_t> Visibility::stored_to(const Partition& where) {
  ASSIGN_OR_RETURN(const Watermarks bounds, watermarks(all_.get(), where.topic, where.partition, kAskMs));
  return bounds.high;
}

absl::StatusOr<std::vector<Visibility::Partition>> Visibility::hanging(const std::set<std::string>& topics,
                                                                       std::chrono::milliseconds patience) {
  struct Suspect {
    Partition where;
    int64_t stored = 0;
  };
  std::vector<Suspect> suspects;
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> found,
                   find_topics(all_.get(), {topics.begin(), topics.end()}));
  std::set<std::string> unknown = topics;
  for (const TopicPartitions& t : found) unknown.erase(t.topic);
  if (!unknown.empty())
    return absl::UnavailableError("kafka: the broker does not know the topic " + *unknown.begin());
  for (const TopicPartitions& t : found) {
    for (const int32_t partition : t.partitions) {
      Suspect suspect{.where = {t.topic, partition}};
      ASSIGN_OR_RETURN(suspect.stored, stored_to(suspect.where));
      suspects.push_back(std::move(suspect));
    }
  }
  for (const auto deadline = Clock::now() + patience;; std::this_thread::sleep_for(kStep)) {
    std::vector<Suspect> left;
    for (Suspect& s : suspects) {
      ASSIGN_OR_RETURN(const int64_t seen, seen_to(s.where));
      if (seen < s.stored) left.push_back(std::move(s));
    }
    suspects = std::move(left);
    if (suspects.empty() || Clock::now() >= deadline) break;
  }
  std::vector<Partition> out;
  out.reserve(suspects.size());
  for (Suspect& s : suspects) out.push_back(std::move(s.where));
  return out;
}

absl::StatusOr<bool> Visibility::sees(const Partition& where, const std::vector<int64_t>& offsets) {
  ASSIGN_OR_RETURN(LogReader reader, LogReader::open(options_, where.topic, where.partition));
  ASSIGN_OR_RETURN(const Watermarks bounds, reader.bounds());
  if (offsets.front() < bounds.low) return true;  // deleted, and it was settled before it could be
  bool seen = false;
  absl::Status read = reader.read(offsets.front(), std::min(offsets.back() + 1, bounds.high),
                                  [&](const LogMessage& m) -> absl::Status {
                                    seen = std::binary_search(offsets.begin(), offsets.end(), m.offset);
                                    return seen ? absl::CancelledError() : absl::OkStatus();
                                  });
  if (!read.ok() && !seen) return read;
  return seen;
}

}  // namespace doppel::kafka
