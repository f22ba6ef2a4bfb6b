#include "stream/kafka/librdkafka/membership.h"

#include <fmt/format.h>

#include "base/status.h"

namespace doppel::kafka {
namespace {

struct DestroyMessage {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
using Message = std::unique_ptr<rd_kafka_message_t, DestroyMessage>;

Settings settings_of(const MembershipOptions& o) {
  return {
      {"group.id", o.group},
      {"group.instance.id", o.member},
      {"session.timeout.ms", fmt::format("{}", o.session_timeout_ms)},
      {"heartbeat.interval.ms", fmt::format("{}", std::max(o.session_timeout_ms / 5, 1))},
      // The library's thread keeps us in the group. Loading an index may take an hour without a poll.
      {"max.poll.interval.ms", "86400000"},
      // A new member takes nothing away from the one that has it.
      {"partition.assignment.strategy", "cooperative-sticky"},
      {"enable.auto.commit", "false"},
      {"auto.offset.reset", "latest"},
      {"allow.auto.create.topics", "false"},
  };
}

class LibraryMembership final : public Membership {
 public:
  explicit LibraryMembership(const MembershipOptions& options) : options_(options) {}

  absl::Status open(const ClientOptions& client) {
    ASSIGN_OR_RETURN(client_, make_consumer(client, settings_of(options_), nullptr, this, nullptr,
                                            &LibraryMembership::rebalance));
    const PartitionList topics(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(topics.get(), options_.place.topic.c_str(), RD_KAFKA_PARTITION_UA);
    const rd_kafka_resp_err_t code = rd_kafka_subscribe(client_.get(), topics.get());
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : error("kafka: " + options_.group, code);
  }

  absl::StatusOr<bool> chosen(int wait_ms) override {
    const Message message(rd_kafka_consumer_poll(client_.get(), wait_ms));
    if (message == nullptr || message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return chosen_;
    switch (message->err) {
      case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        return absl::PermissionDeniedError(
            fmt::format("kafka: no right to read the group {}: the daemons of one index are members of it "
                        "(kafka.takeover: standby)",
                        options_.group));
      case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return absl::PermissionDeniedError(fmt::format("kafka: no right to read {}", options_.place.topic));
      case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
        return invalid(fmt::format(
            "kafka.session_timeout: {} ms is not between the brokers' group.min.session.timeout.ms and "
            "group.max.session.timeout.ms",
            options_.session_timeout_ms));
      case RD_KAFKA_RESP_ERR__FATAL:
      case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
        return absl::AlreadyExistsError(fmt::format(
            "another process is the member {} of the group {}: it runs on a copy of this state directory",
            options_.member, options_.group));
      default:
        return chosen_;  // the library tries again
    }
  }

 private:
  static void rebalance(rd_kafka_t* client, rd_kafka_resp_err_t code,
                        rd_kafka_topic_partition_list_t* changed, void* opaque) {
    auto& self = *static_cast<LibraryMembership*>(opaque);
    const bool given = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    rd_kafka_error_t* failed =
        given ? rd_kafka_incremental_assign(client, changed) : rd_kafka_incremental_unassign(client, changed);
    if (failed != nullptr) rd_kafka_error_destroy(failed);
    if (given) rd_kafka_pause_partitions(client, changed);  // nothing is read here
    const auto& place = self.options_.place;
    if (rd_kafka_topic_partition_list_find(changed, place.topic.c_str(), place.partition) != nullptr)
      self.chosen_ = given;
  }

  const MembershipOptions options_;
  bool chosen_ = false;
  Client client_;  // calls back
};

}  // namespace

absl::StatusOr<std::unique_ptr<Membership>> library_membership(const ClientOptions& client,
                                                               const MembershipOptions& options) {
  auto out = std::make_unique<LibraryMembership>(options);
  RETURN_IF_ERROR(out->open(client));
  return out;
}

}  // namespace doppel::kafka
