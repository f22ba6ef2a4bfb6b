#include "kafka/librdkafka/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr int kAskMs = 1'000;
constexpr size_t kUuid = 37;  // length of a UUID and the hyphen before it

struct DestroyMessage {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
using Message = std::unique_ptr<rd_kafka_message_t, DestroyMessage>;

Settings settings_of(const MembershipOptions& o) {
  Settings out{
      {"group.id", o.group},
      {"session.timeout.ms", fmt::format("{}", o.session_timeout_ms)},
      {"heartbeat.interval.ms", fmt::format("{}", std::max(o.session_timeout_ms / 5, 1))},
      // The library's thread sends heartbeats. Loading an index may take an hour without a poll.
      {"max.poll.interval.ms", o.may_be_silent ? "86400000" : "300000"},
      // A new member takes partitions from others only to balance them.
      {"partition.assignment.strategy", "cooperative-sticky"},
      {"topic.metadata.refresh.interval.ms", "10000"},
      {"enable.auto.commit", "false"},
      {"auto.offset.reset", "latest"},
      {"allow.auto.create.topics", "false"},
  };
  if (!o.member.empty()) out.emplace_back("group.instance.id", o.member);
  return out;
}

// What the coordinator assigned to us. Only the thread that polls the client or destroys it uses this.
struct Assignment {
  std::set<TopicPartition> places;
  bool came = false;  // the first assignment has come; it may be empty
};

void rebalance(rd_kafka_t* client, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* changed,
               void* opaque) {
  auto& assignment = *static_cast<Assignment*>(opaque);
  const bool given = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
  assignment.came = assignment.came || given;
  rd_kafka_error_t* failed =
      given ? rd_kafka_incremental_assign(client, changed) : rd_kafka_incremental_unassign(client, changed);
  if (failed != nullptr) rd_kafka_error_destroy(failed);
  if (given) rd_kafka_pause_partitions(client, changed);  // this client reads no records
  for (int i = 0; i < changed->cnt; ++i) {
    const TopicPartition place{changed->elems[i].topic, changed->elems[i].partition};
    if (given) {
      assignment.places.insert(place);
    } else {
      assignment.places.erase(place);
    }
  }
}

class LibraryMembership final : public Membership {
 public:
  explicit LibraryMembership(const MembershipOptions& options) : options_(options) {}

  // Before version 2.3 an assertion in the library's assignor aborts the process if a member leaves between
  // joining and its first assignment. So this waits for the assignment. A member that gets none in time is
  // leaked.
  ~LibraryMembership() override {
    constexpr int kMended = 0x02030000, kLookMs = 20;
    if (client_ == nullptr || assignment_->came || rd_kafka_version() >= kMended) return;
    const auto deadline = Clock::now() + std::chrono::seconds(2);
    while (!assignment_->came && Clock::now() < deadline && ours(kLookMs).ok()) {
    }
    if (!assignment_->came) leave_behind(std::move(client_));
  }

  absl::Status open(const ClientOptions& client) {
    ASSIGN_OR_RETURN(client_,
                     make_consumer(client, settings_of(options_), nullptr, assignment_, nullptr, &rebalance));
    const PartitionList topics(rd_kafka_topic_partition_list_new(static_cast<int>(options_.topics.size())));
    for (const std::string& topic : options_.topics)
      rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
    const rd_kafka_resp_err_t code = rd_kafka_subscribe(client_.get(), topics.get());
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : error("kafka: " + options_.group, code);
  }

  absl::StatusOr<std::vector<TopicPartition>> ours(int wait_ms) override {
    const Message message(rd_kafka_consumer_poll(client_.get(), wait_ms));
    if (message != nullptr) RETURN_IF_ERROR(what_a_person_must_change(message->err));
    return std::vector<TopicPartition>(assignment_->places.begin(), assignment_->places.end());
  }

  absl::StatusOr<std::vector<std::string>> members() override {
    const rd_kafka_group_list* list = nullptr;
    const rd_kafka_resp_err_t code =
        rd_kafka_list_groups(client_.get(), options_.group.c_str(), &list, kAskMs);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error("kafka: the members of " + options_.group, code);
    std::vector<std::string> out;
    for (int g = 0; g < list->group_cnt; ++g) {
      for (int m = 0; m < list->groups[g].member_cnt; ++m) {
        std::string id = list->groups[g].members[m].member_id;  // NAME-UUID
        if (id.size() > kUuid) id.resize(id.size() - kUuid);
        out.push_back(std::move(id));
      }
    }
    rd_kafka_group_list_destroy(list);
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string credentials() override {
    rd_kafka_consumer_group_metadata_t* metadata = rd_kafka_consumer_group_metadata(client_.get());
    if (metadata == nullptr) return {};
    void* bytes = nullptr;
    size_t size = 0;
    std::string out;
    rd_kafka_error_t* failed = rd_kafka_consumer_group_metadata_write(metadata, &bytes, &size);
    if (failed == nullptr) out.assign(static_cast<const char*>(bytes), size);
    if (failed != nullptr) rd_kafka_error_destroy(failed);
    if (bytes != nullptr) rd_kafka_mem_free(client_.get(), bytes);
    rd_kafka_consumer_group_metadata_destroy(metadata);
    return out;
  }

 private:
  // Returns OK for all other errors, which the library retries.
  absl::Status what_a_person_must_change(rd_kafka_resp_err_t code) const {
    switch (code) {
      case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        return absl::PermissionDeniedError(
            fmt::format("kafka: no right to read the group {}: {}", options_.group, options_.purpose));
      case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return absl::PermissionDeniedError(
            fmt::format("kafka: no right to read {}", absl::StrJoin(options_.topics, " ")));
      case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
        return invalid(
            fmt::format("kafka.properties: session.timeout.ms: {} is not between the brokers' "
                        "group.min.session.timeout.ms and "
                        "group.max.session.timeout.ms",
                        options_.session_timeout_ms));
      case RD_KAFKA_RESP_ERR__FATAL:
      case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
        return absl::AlreadyExistsError(fmt::format(
            "another process is the member {} of the group {}: it runs on a copy of this state directory",
            options_.member, options_.group));
      default:
        return absl::OkStatus();
    }
  }

  const MembershipOptions options_;
  std::shared_ptr<Assignment> assignment_ = std::make_shared<Assignment>();
  Client client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Membership>> library_membership(const ClientOptions& client,
                                                               const MembershipOptions& options) {
  auto out = std::make_unique<LibraryMembership>(options);
  RETURN_IF_ERROR(out->open(client));
  return out;
}

}  // namespace doppel::kafka
