#include "stream/kafka/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr std::chrono::seconds kDestroyLimit(5);

struct Refused {
  std::string_view name, why;
};
// What would break exactly-once, or has a setting of its own.
constexpr Refused kRefused[] = {
    {"bootstrap.servers", "set kafka.brokers"},
    {"metadata.broker.list", "set kafka.brokers"},
    {"group.id", "set kafka.group"},
    {"client.id", "set kafka.client_id"},
    {"transactional.id", "set kafka.transactional_id"},
    {"transaction.timeout.ms", "set kafka.transaction_timeout"},
    {"enable.idempotence", "transactions need it on"},
    {"acks", "transactions need all"},
    {"request.required.acks", "transactions need all"},
    {"message.send.max.retries", "a message given up would abort its transaction"},
    {"retries", "a message given up would abort its transaction"},
    {"message.timeout.ms", "a message given up would abort its transaction"},
    {"delivery.timeout.ms", "a message given up would abort its transaction"},
    {"enable.gapless.guarantee", "transactions decide it"},
    {"delivery.report.only.error", "doppel needs to know where records went"},
    {"enable.auto.commit", "offsets are committed in the transaction of their batch"},
    {"auto.commit.enable", "offsets are committed in the transaction of their batch"},
    {"enable.auto.offset.store", "offsets are committed in the transaction of their batch"},
    {"offset.store.method", "offsets are committed in the transaction of their batch"},
    {"auto.offset.reset", "set kafka.start and kafka.on_data_loss"},
    {"enable.partition.eof", "doppel decides it"},
    {"partition.assignment.strategy", "one index owns all partitions"},
    {"group.instance.id", "one index owns all partitions"},
    {"message.max.bytes", "it follows from the limits of the topics"},
    {"plugin.library.paths", "no code is loaded on demand"},
};

// consumer.x -> x for consumers, nothing for producers; likewise producer.x.
bool applies(std::string_view& name, bool consumer) {
  for (const auto& [prefix, for_consumer] :
       {std::pair<std::string_view, bool>{"consumer.", true}, {"producer.", false}}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    return for_consumer == consumer;
  }
  return true;
}

struct DestroyConf {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, DestroyConf>;

void on_log(const rd_kafka_t*, int level, const char* facility, const char* text) {
  const log::Level ours = level <= 3 ? log::Level::error : level <= 5 ? log::Level::warn : log::Level::debug;
  log::write(ours, "kafka", {{"facility", facility}, {"says", text}});
}

// What librdkafka tries again by itself is told once by its log; this keeps it from stderr.
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
  return invalid(fmt::format("{}{}: {}", origin, name, message.data()));
}

absl::StatusOr<Conf> make_conf(const ClientOptions& options, const Settings& ours, bool consumer) {
  Conf conf(rd_kafka_conf_new());
  rd_kafka_conf_set_log_cb(conf.get(), on_log);
  rd_kafka_conf_set_error_cb(conf.get(), on_error);
  RETURN_IF_ERROR(set(conf.get(), "bootstrap.servers", options.brokers, "kafka.brokers: "));
  RETURN_IF_ERROR(set(conf.get(), "client.id", options.client_id, ""));
  // By default the library waits up to ten seconds before it tries a broker again that is back already.
  RETURN_IF_ERROR(set(conf.get(), "reconnect.backoff.max.ms", "1000", ""));
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

absl::StatusOr<Client> make(Conf conf, rd_kafka_type_t type) {
  std::array<char, 512> message{};
  rd_kafka_t* client = rd_kafka_new(type, conf.get(), message.data(), message.size());
  if (client == nullptr) return invalid(fmt::format("kafka: {}", message.data()));
  [[maybe_unused]] const rd_kafka_conf_t* taken = conf.release();  // it owns the configuration now
  return Client(client);
}

}  // namespace

absl::Status check_properties(const ClientOptions& options) {
  for (const auto& [full_name, value] : options.properties) {
    std::string_view name = full_name;
    if (!applies(name, true)) {
      name = full_name;
      applies(name, false);
    }
    const auto* refused = std::find_if(std::begin(kRefused), std::end(kRefused),
                                       [&](const Refused& r) { return r.name == name; });
    if (refused != std::end(kRefused)) {
      return invalid(fmt::format("kafka.properties: {} cannot be set: {}", full_name, refused->why));
    }
  }
  RETURN_IF_ERROR(make_conf(options, {}, true).status());
  return make_conf(options, {}, false).status();
}

// Version 2.0 never returns from it after a topic that it consumed was deleted.
void Destroy::operator()(rd_kafka_t* client) const {
  auto gone = std::make_shared<std::promise<void>>();
  std::future<void> waiting = gone->get_future();
  std::thread([client, gone] {
    rd_kafka_destroy(client);
    gone->set_value();
  }).detach();
  if (waiting.wait_for(kDestroyLimit) != std::future_status::ready)
    log::warn("a client of Kafka does not end; it is left behind");
}

absl::StatusOr<Client> make_consumer(const ClientOptions& options, const Settings& ours,
                                     OnStatistics on_statistics, void* opaque) {
  ASSIGN_OR_RETURN(Conf conf, make_conf(options, ours, true));
  if (on_statistics != nullptr) {
    rd_kafka_conf_set_stats_cb(conf.get(), on_statistics);
    rd_kafka_conf_set_opaque(conf.get(), opaque);
  }
  ASSIGN_OR_RETURN(Client client, make(std::move(conf), RD_KAFKA_CONSUMER));
  rd_kafka_poll_set_consumer(client.get());
  return client;
}

absl::StatusOr<Client> make_producer(const ClientOptions& options, const Settings& ours,
                                     OnDelivery on_delivery, OnTrouble on_trouble, void* opaque) {
  ASSIGN_OR_RETURN(Conf conf, make_conf(options, ours, false));
  rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivery);
  if (on_trouble != nullptr) rd_kafka_conf_set_error_cb(conf.get(), on_trouble);
  rd_kafka_conf_set_opaque(conf.get(), opaque);
  return make(std::move(conf), RD_KAFKA_PRODUCER);
}

absl::Status error(const std::string& what, rd_kafka_resp_err_t code, const std::string& message) {
  const std::string text = fmt::format("{}: {} ({})", what, message, rd_kafka_err2name(code));
  switch (code) {
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
      return absl::AbortedError(text);
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
      return absl::UnavailableError(text);
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return absl::NotFoundError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::Status error(const std::string& what, rd_kafka_resp_err_t code) {
  return error(what, code, rd_kafka_err2str(code));
}

absl::Status error(const std::string& what, rd_kafka_error_t* owned) {
  if (owned == nullptr) return absl::OkStatus();
  absl::Status status = error(what, rd_kafka_error_code(owned), rd_kafka_error_string(owned));
  rd_kafka_error_destroy(owned);
  return status;
}

absl::StatusOr<Watermarks> watermarks(rd_kafka_t* client, const std::string& topic, int32_t partition,
                                      int timeout_ms) {
  Watermarks out;
  const rd_kafka_resp_err_t code =
      rd_kafka_query_watermark_offsets(client, topic.c_str(), partition, &out.low, &out.high, timeout_ms);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return error(fmt::format("cannot ask for the offsets of {}/{}", topic, partition), code);
  return out;
}

}  // namespace doppel::kafka
