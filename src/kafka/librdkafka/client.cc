#include "kafka/librdkafka/client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr int kLogTruncation = -139;  // RD_KAFKA_RESP_ERR__LOG_TRUNCATION, which 2.0 does not have

constexpr std::chrono::seconds kDestroyLimit(5);

void on_log(const rd_kafka_t*, int level, const char* facility, const char* text) {
  const log::Level ours = level <= 3 ? log::Level::error : level <= 5 ? log::Level::warn : log::Level::debug;
  log::write(ours, "kafka", {{"facility", facility}, {"says", text}});
}

// Receives errors that librdkafka retries by itself. Without a callback it would print them on stderr.
void on_error(rd_kafka_t*, int code, const char* reason, void*) {
  log::debug("kafka",
             {{"error", rd_kafka_err2name(static_cast<rd_kafka_resp_err_t>(code))}, {"says", reason}});
}

absl::Status set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value,
                 const std::string& origin) {
  std::array<char, 512> message{};
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), message.data(), message.size()) ==
      RD_KAFKA_CONF_OK)
    return absl::OkStatus();
  return invalid(fmt::format("{}{}: {}", origin, name,
                             is_secret(name) ? "librdkafka does not accept this value" : message.data()));
}

absl::StatusOr<Conf> make_conf(const ClientOptions& options, const Settings& ours, bool consumer) {
  Conf conf(rd_kafka_conf_new());
  rd_kafka_conf_set_log_cb(conf.get(), on_log);
  rd_kafka_conf_set_error_cb(conf.get(), on_error);
  if (!options.brokers.empty())
    RETURN_IF_ERROR(set(conf.get(), "bootstrap.servers", options.brokers, "kafka.brokers: "));
  RETURN_IF_ERROR(set(conf.get(), "client.id", "doppel", ""));
  // By default the library waits up to ten seconds before it reconnects to a broker.
  RETURN_IF_ERROR(set(conf.get(), "reconnect.backoff.max.ms", "1000", ""));
  // A broker refuses the next transaction for the few milliseconds in which it still marks the records of the
  // last one (CONCURRENT_TRANSACTIONS). By default the library retries after 100 ms.
  if (!consumer) RETURN_IF_ERROR(set(conf.get(), "retry.backoff.ms", "10", ""));
  for (const auto& [full_name, value] : options.properties) {
    std::string_view name = full_name;
    if (applies(name, consumer))
      RETURN_IF_ERROR(set(conf.get(), std::string(name), value, "kafka.properties: "));
  }
  for (const auto& [name, value] : ours) {
    if (name.ends_with('?')) {
      set(conf.get(), name.substr(0, name.size() - 1), value, "").IgnoreError();
    } else {
      RETURN_IF_ERROR(set(conf.get(), name, value, ""));
    }
  }
  return conf;
}

absl::StatusOr<Client> make(Conf conf, rd_kafka_type_t type, std::shared_ptr<void> opaque = nullptr) {
  std::array<char, 512> message{};
  rd_kafka_t* client = rd_kafka_new(type, conf.get(), message.data(), message.size());
  if (client == nullptr) return invalid(fmt::format("kafka.properties: {}", message.data()));
  [[maybe_unused]] const rd_kafka_conf_t* taken = conf.release();  // the client owns it now
  return Client(client, Destroy{std::move(opaque)});
}

// exit() runs functions in reverse order, so this one comes before the destructors of static objects.
void end_without_destructors() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::on_exit(
        [](int code, void*) {
          std::fflush(nullptr);
          ::_exit(code);
        },
        nullptr);
  });
}

}  // namespace

void Destroy::operator()(rd_kafka_t* client) const {
  const bool producer = rd_kafka_type(client) == RD_KAFKA_PRODUCER;
  auto gone = std::make_shared<std::promise<void>>();
  std::future<void> waiting = gone->get_future();
  std::thread([client, gone, kept = opaque] {
    rd_kafka_destroy(client);
    gone->set_value();
  }).detach();
  while (waiting.wait_for(kDestroyLimit) != std::future_status::ready) {
    log::warn(producer ? "a Kafka producer takes long to end"
                       : "a Kafka consumer does not end; doppel ends without it");
    if (!producer) return end_without_destructors();
  }
}

void leave_behind(Client client) {
  end_without_destructors();
  [[maybe_unused]] const rd_kafka_t* leaked = client.release();  // nobody polls it: no callback runs again
}

absl::StatusOr<Client> make_consumer(const ClientOptions& options, const Settings& ours,
                                     OnStatistics on_statistics, std::shared_ptr<void> opaque,
                                     OnTrouble on_trouble, OnRebalance on_rebalance) {
  ASSIGN_OR_RETURN(Conf conf, make_conf(options, ours, true));
  if (on_statistics != nullptr) rd_kafka_conf_set_stats_cb(conf.get(), on_statistics);
  if (on_trouble != nullptr) rd_kafka_conf_set_error_cb(conf.get(), on_trouble);
  if (on_rebalance != nullptr) rd_kafka_conf_set_rebalance_cb(conf.get(), on_rebalance);
  rd_kafka_conf_set_opaque(conf.get(), opaque.get());
  ASSIGN_OR_RETURN(Client client, make(std::move(conf), RD_KAFKA_CONSUMER, std::move(opaque)));
  rd_kafka_poll_set_consumer(client.get());
  return client;
}

absl::StatusOr<Client> make_producer(const ClientOptions& options, const Settings& ours,
                                     OnDelivery on_delivery, OnTrouble on_trouble, void* opaque,
                                     OnThrottle on_throttle) {
  ASSIGN_OR_RETURN(Conf conf, make_conf(options, ours, false));
  rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivery);
  if (on_trouble != nullptr) rd_kafka_conf_set_error_cb(conf.get(), on_trouble);
  if (on_throttle != nullptr) rd_kafka_conf_set_throttle_cb(conf.get(), on_throttle);
  rd_kafka_conf_set_opaque(conf.get(), opaque);
  return make(std::move(conf), RD_KAFKA_PRODUCER);
}

void add_offset(rd_kafka_topic_partition_list_t* list, const TopicPartition& place,
                const GroupOffset& offset) {
  rd_kafka_topic_partition_t* at =
      rd_kafka_topic_partition_list_add(list, place.topic.c_str(), place.partition);
  at->offset = offset.offset;
  at->metadata = ::strdup(offset.note.c_str());  // the list frees it
  at->metadata_size = at->metadata == nullptr ? 0 : offset.note.size();
}

absl::Status error(const std::string& what, rd_kafka_resp_err_t code, const std::string& message) {
  const std::string text = fmt::format("{}: {} ({})", what, message, rd_kafka_err2name(code));
  // Of libraries since 2.1, which ask a new leader where the log that was read ends (KIP-320).
  if (static_cast<int>(code) == kLogTruncation)
    return absl::OutOfRangeError(
        text + ": the leader's log differs from what was read; the brokers have lost records of it");
  switch (code) {
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
      return absl::AbortedError(text);
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:  // the process was stopped for longer than a transaction may take
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__NOENT:
    case RD_KAFKA_RESP_ERR__PARTIAL:  // a broker that recovers knows no brokers and no topics
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_NOT_CONTROLLER:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_LISTENER_NOT_FOUND:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
      return absl::UnavailableError(text);
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
      return absl::UnavailableError(
          text +
          ": the brokers do not agree yet which of them leads the partition; this passes with the election");
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
      return absl::FailedPreconditionError(text);
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return absl::NotFoundError(text);
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return absl::ResourceExhaustedError(text);
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return absl::InvalidArgumentError(text);
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      return absl::OutOfRangeError(text);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return absl::PermissionDeniedError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::Status error(const std::string& what, rd_kafka_resp_err_t code) {
  return error(what, code, rd_kafka_err2str(code));
}

}  // namespace doppel::kafka
