#include "kafka/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace doppel::testing {
namespace {

constexpr int kTimeoutMs = 30'000;

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* p) const {
    destroy(p);
  }
};
template <class T, auto destroy>
using Owned = std::unique_ptr<T, Destroy<destroy>>;
using Queue = Owned<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using Event = Owned<rd_kafka_event_t, rd_kafka_event_destroy>;
using AdminOptions = Owned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;
using NewTopic = Owned<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using Partitions = Owned<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;
using Metadata = Owned<const rd_kafka_metadata_t, rd_kafka_metadata_destroy>;

using ErrorText = std::array<char, 512>;

void check(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw KafkaError(what + ": " + rd_kafka_err2str(error));
}

// Makes one call of the admin interface: `start` passes it to the queue. Returns its event.
template <class Start>
Event administer(rd_kafka_t* client, rd_kafka_admin_op_t operation, const std::string& what, Start start) {
  ErrorText text{};
  Queue queue(rd_kafka_queue_new(client));
  AdminOptions options(rd_kafka_AdminOptions_new(client, operation));
  check(rd_kafka_AdminOptions_set_request_timeout(options.get(), kTimeoutMs, text.data(), text.size()), what);
  if (operation == RD_KAFKA_ADMIN_OP_CREATETOPICS || operation == RD_KAFKA_ADMIN_OP_DELETETOPICS ||
      operation == RD_KAFKA_ADMIN_OP_CREATEPARTITIONS || operation == RD_KAFKA_ADMIN_OP_DELETERECORDS)
    check(rd_kafka_AdminOptions_set_operation_timeout(options.get(), kTimeoutMs, text.data(), text.size()),
          what);
  start(options.get(), queue.get());
  Event event(rd_kafka_queue_poll(queue.get(), kTimeoutMs + 5'000));
  if (event == nullptr) throw KafkaError(what + ": no answer");
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR)
    throw KafkaError(what + ": " + rd_kafka_event_error_string(event.get()));
  return event;
}

void check_topics(const rd_kafka_topic_result_t** results, size_t count, const std::string& what) {
  for (size_t i = 0; i < count; ++i) check(rd_kafka_topic_result_error(results[i]), what);
}

Partitions one_partition(const std::string& topic, int32_t partition, int64_t offset) {
  Partitions list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = offset;
  return list;
}

void check_partitions(const rd_kafka_topic_partition_list_t* list, const std::string& what) {
  for (int i = 0; i < list->cnt; ++i) check(list->elems[i].err, what);
}

// The opaque pointer of a delivery report: one for each message.
struct Delivery {
  Message* message;
  size_t* left;
  rd_kafka_resp_err_t* error;
};

void on_delivery(rd_kafka_t*, const rd_kafka_message_t* report, void*) {
  auto* delivery = static_cast<Delivery*>(report->_private);
  delivery->message->offset = report->offset;
  if (report->err != RD_KAFKA_RESP_ERR_NO_ERROR) *delivery->error = report->err;
  if (report->offset < 0 && report->err == RD_KAFKA_RESP_ERR_NO_ERROR)
    *delivery->error = RD_KAFKA_RESP_ERR__INCONSISTENT;
  --*delivery->left;
}

const rd_kafka_metadata_topic_t* topic_in(const Metadata& metadata) {
  return metadata->topic_cnt == 1 ? &metadata->topics[0] : nullptr;
}

Metadata metadata_of(rd_kafka_t* client, const std::string& topic) {
  Owned<rd_kafka_topic_t, rd_kafka_topic_destroy> handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const rd_kafka_metadata_t* metadata = nullptr;
  check(rd_kafka_metadata(client, 0, handle.get(), &metadata, kTimeoutMs), "metadata of " + topic);
  return Metadata(metadata);
}

std::optional<std::string> bytes(const void* data, size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

Message to_message(const rd_kafka_message_t* m) {
  Message out;
  out.key = bytes(m->key, m->key_len);
  out.value = bytes(m->payload, m->len);
  out.partition = m->partition;
  out.offset = m->offset;
  out.topic = rd_kafka_topic_name(m->rkt);
  rd_kafka_timestamp_type_t type{};
  out.timestamp_ms = rd_kafka_message_timestamp(m, &type);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(m, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i)
      out.headers.emplace_back(name, bytes(value, size));
  }
  return out;
}

}  // namespace

std::string Message::header(const std::string& name) const {
  for (const auto& [n, v] : headers) {
    if (n == name) return v.value_or("");
  }
  return "";
}

ClientHandle make_client(rd_kafka_type_t type, const std::string& bootstrap, const Properties& properties) {
  ErrorText text{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const auto set = [&](const std::string& name, const std::string& value) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text.data(), text.size()) != RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      throw KafkaError(text.data());
    }
  };
  set("bootstrap.servers", bootstrap);
  set("log_level", "0");  // brokers come and go in these tests
  set("reconnect.backoff.max.ms", "200");
  for (const auto& [name, value] : properties) set(name, value);
  if (type == RD_KAFKA_PRODUCER) rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
  ClientHandle client(rd_kafka_new(type, conf, text.data(), text.size()));
  if (client == nullptr) {
    rd_kafka_conf_destroy(conf);
    throw KafkaError(text.data());
  }
  return client;
}

Client::Client(const std::string& bootstrap, const Properties& properties) {
  // One request at a time: the leader of a new topic may refuse the first request and accept the second, and
  // the library then reports both as accepted.
  Properties all{{"linger.ms", "1"},
                 {"message.max.bytes", "100000000"},
                 {"enable.idempotence", "true"},
                 {"max.in.flight", "1"}};
  for (const auto& [name, value] : properties) all[name] = value;
  handle_ = make_client(RD_KAFKA_PRODUCER, bootstrap, all);
}

// The controller has answered. The brokers learn of it later, and we learn of it from them.
void Client::await_partitions(const std::string& topic, int count) {
  const auto deadline = Reader::Clock::now() + std::chrono::seconds(30);
  while (partitions(topic) != count || leader(topic, count - 1) < 0) {
    if (Reader::Clock::now() > deadline)
      throw KafkaError(fmt::format("{} has no {} partitions", topic, count));
  }
}

void Client::create_topic(const std::string& name, int partitions, const Properties& configs, int replicas) {
  ErrorText text{};
  NewTopic topic(rd_kafka_NewTopic_new(name.c_str(), partitions, replicas, text.data(), text.size()));
  if (topic == nullptr) throw KafkaError(text.data());
  // Tests produce records with old timestamps; retention must not delete them.
  Properties all{{"retention.ms", "-1"}};
  for (const auto& [key, value] : configs) all[key] = value;
  for (const auto& [key, value] : all)
    check(rd_kafka_NewTopic_set_config(topic.get(), key.c_str(), value.c_str()), key);
  rd_kafka_NewTopic_t* topics[] = {topic.get()};
  const Event event = administer(
      handle(), RD_KAFKA_ADMIN_OP_CREATETOPICS, "create " + name,
      [&](auto* options, auto* queue) { rd_kafka_CreateTopics(handle(), topics, 1, options, queue); });
  size_t count = 0;
  check_topics(rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count),
               count, "create " + name);
  await_partitions(name, partitions);
}

void Client::delete_topic(const std::string& name) {
  Owned<rd_kafka_DeleteTopic_t, rd_kafka_DeleteTopic_destroy> topic(rd_kafka_DeleteTopic_new(name.c_str()));
  rd_kafka_DeleteTopic_t* topics[] = {topic.get()};
  const Event event = administer(
      handle(), RD_KAFKA_ADMIN_OP_DELETETOPICS, "delete " + name,
      [&](auto* options, auto* queue) { rd_kafka_DeleteTopics(handle(), topics, 1, options, queue); });
  size_t count = 0;
  check_topics(rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event.get()), &count),
               count, "delete " + name);
  // The controller has answered; the brokers learn of it later.
  for (const auto deadline = Reader::Clock::now() + std::chrono::seconds(30); topic_exists(name);) {
    if (Reader::Clock::now() > deadline) throw KafkaError(name + " was deleted, and stays");
  }
}

void Client::add_partitions(const std::string& name, int total) {
  ErrorText text{};
  Owned<rd_kafka_NewPartitions_t, rd_kafka_NewPartitions_destroy> more(
      rd_kafka_NewPartitions_new(name.c_str(), total, text.data(), text.size()));
  if (more == nullptr) throw KafkaError(text.data());
  rd_kafka_NewPartitions_t* all[] = {more.get()};
  const Event event = administer(
      handle(), RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, "partitions of " + name,
      [&](auto* options, auto* queue) { rd_kafka_CreatePartitions(handle(), all, 1, options, queue); });
  size_t count = 0;
  check_topics(
      rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event.get()), &count),
      count, "partitions of " + name);
  await_partitions(name, total);
}

void Client::delete_records(const std::string& topic, int32_t partition, int64_t offset) {
  const Partitions before = one_partition(topic, partition, offset);
  Owned<rd_kafka_DeleteRecords_t, rd_kafka_DeleteRecords_destroy> records(
      rd_kafka_DeleteRecords_new(before.get()));
  rd_kafka_DeleteRecords_t* all[] = {records.get()};
  const Event event = administer(
      handle(), RD_KAFKA_ADMIN_OP_DELETERECORDS, "delete records of " + topic,
      [&](auto* options, auto* queue) { rd_kafka_DeleteRecords(handle(), all, 1, options, queue); });
  check_partitions(rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event.get())),
                   "delete records of " + topic);
}

Properties Client::topic_configs(const std::string& topic) {
  Owned<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy> resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  rd_kafka_ConfigResource_t* all[] = {resource.get()};
  const Event event = administer(
      handle(), RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, "configs of " + topic,
      [&](auto* options, auto* queue) { rd_kafka_DescribeConfigs(handle(), all, 1, options, queue); });
  size_t count = 0;
  const rd_kafka_ConfigResource_t** resources =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  Properties out;
  for (size_t i = 0; i < count; ++i) {
    check(rd_kafka_ConfigResource_error(resources[i]), "configs of " + topic);
    size_t entries = 0;
    const rd_kafka_ConfigEntry_t** list = rd_kafka_ConfigResource_configs(resources[i], &entries);
    for (size_t j = 0; j < entries; ++j) {
      const char* value = rd_kafka_ConfigEntry_value(list[j]);
      out[rd_kafka_ConfigEntry_name(list[j])] = value == nullptr ? "" : value;
    }
  }
  return out;
}

// librdkafka 2.0 can only send all of a topic's own settings together.
void Client::set_topic_configs(const std::string& topic, const Properties& changes) {
  const std::string what = "settings of " + topic;
  const auto resource = [&] {
    return Owned<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>(
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  };
  const auto asked = resource();
  rd_kafka_ConfigResource_t* all[] = {asked.get()};
  const Event found = administer(
      handle(), RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, what,
      [&](auto* options, auto* queue) { rd_kafka_DescribeConfigs(handle(), all, 1, options, queue); });
  size_t count = 0, entries = 0;
  const rd_kafka_ConfigResource_t** resources =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(found.get()), &count);
  const rd_kafka_ConfigEntry_t** list = rd_kafka_ConfigResource_configs(resources[0], &entries);
  Properties wanted = changes;
  for (size_t i = 0; i < entries; ++i) {
    if (rd_kafka_ConfigEntry_source(list[i]) == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG)
      wanted.try_emplace(rd_kafka_ConfigEntry_name(list[i]), rd_kafka_ConfigEntry_value(list[i]));
  }
  const auto changed = resource();
  for (const auto& [name, value] : wanted)
    check(rd_kafka_ConfigResource_set_config(changed.get(), name.c_str(), value.c_str()), what);
  all[0] = changed.get();
  const Event event = administer(
      handle(), RD_KAFKA_ADMIN_OP_ALTERCONFIGS, what,
      [&](auto* options, auto* queue) { rd_kafka_AlterConfigs(handle(), all, 1, options, queue); });
  resources = rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event.get()), &count);
  for (size_t i = 0; i < count; ++i) check(rd_kafka_ConfigResource_error(resources[i]), what);
  // The controller has answered; the broker learns of it later.
  for (const auto& [name, value] : changes) {
    for (const auto deadline = Reader::Clock::now() + std::chrono::seconds(30);
         topic_configs(topic)[name] != value;) {
      if (Reader::Clock::now() > deadline) throw KafkaError(fmt::format("{}: {} stays", what, name));
    }
  }
}

namespace {

// A client that may not describe a topic does not see it.
using AclBinding = Owned<rd_kafka_AclBinding_t, rd_kafka_AclBinding_destroy>;

template <class New>
AclBinding denial(const New& make, const std::string& topic, const std::string& user) {
  ErrorText text{};
  AclBinding out(make(RD_KAFKA_RESOURCE_TOPIC, topic.c_str(), RD_KAFKA_RESOURCE_PATTERN_LITERAL,
                      ("User:" + user).c_str(), "*", RD_KAFKA_ACL_OPERATION_ALL,
                      RD_KAFKA_ACL_PERMISSION_TYPE_DENY, text.data(), text.size()));
  if (out == nullptr) throw KafkaError(text.data());
  return out;
}

}  // namespace

void Client::hide_topic(const std::string& topic, const std::string& user) {
  const AclBinding deny = denial(rd_kafka_AclBinding_new, topic, user);
  rd_kafka_AclBinding_t* all[] = {deny.get()};
  const Event event =
      administer(handle(), RD_KAFKA_ADMIN_OP_CREATEACLS, "hide " + topic,
                 [&](auto* options, auto* queue) { rd_kafka_CreateAcls(handle(), all, 1, options, queue); });
  size_t count = 0;
  const rd_kafka_acl_result_t** results =
      rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event.get()), &count);
  for (size_t i = 0; i < count; ++i) {
    if (const rd_kafka_error_t* error = rd_kafka_acl_result_error(results[i]); error != nullptr)
      throw KafkaError("hide " + topic + ": " + rd_kafka_error_string(error));
  }
}

void Client::show_topic(const std::string& topic, const std::string& user) {
  const AclBinding deny = denial(rd_kafka_AclBindingFilter_new, topic, user);
  rd_kafka_AclBindingFilter_t* all[] = {deny.get()};
  const Event event =
      administer(handle(), RD_KAFKA_ADMIN_OP_DELETEACLS, "show " + topic,
                 [&](auto* options, auto* queue) { rd_kafka_DeleteAcls(handle(), all, 1, options, queue); });
}

bool Client::topic_exists(const std::string& topic) { return partitions(topic) > 0; }

int Client::partitions(const std::string& topic) {
  const Metadata metadata = metadata_of(handle(), topic);
  const auto* t = topic_in(metadata);
  return t != nullptr && t->err == RD_KAFKA_RESP_ERR_NO_ERROR ? t->partition_cnt : 0;
}

int Client::leader(const std::string& topic, int32_t partition) {
  const Metadata metadata = metadata_of(handle(), topic);
  const auto* t = topic_in(metadata);
  for (int i = 0; t != nullptr && i < t->partition_cnt; ++i) {
    if (t->partitions[i].id == partition) return t->partitions[i].leader;
  }
  return -1;
}

int64_t Client::group_offset(const std::string& group, const std::string& topic, int32_t partition) {
  const Partitions list = one_partition(topic, partition, RD_KAFKA_OFFSET_INVALID);
  Owned<rd_kafka_ListConsumerGroupOffsets_t, rd_kafka_ListConsumerGroupOffsets_destroy> request(
      rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), list.get()));
  rd_kafka_ListConsumerGroupOffsets_t* all[] = {request.get()};
  const std::string what = "offsets of " + group;
  // Right after a commit its offsets are not stable yet: the broker says so.
  for (const auto deadline = Reader::Clock::now() + std::chrono::seconds(30); true;) {
    const Event event = administer(
        handle(), RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, what, [&](auto* options, auto* queue) {
          rd_kafka_error_t* refused = rd_kafka_AdminOptions_set_require_stable_offsets(options, 1);
          if (refused != nullptr) throw KafkaError(rd_kafka_error_string(refused));
          rd_kafka_ListConsumerGroupOffsets(handle(), all, 1, options, queue);
        });
    size_t count = 0;
    const rd_kafka_group_result_t** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
        rd_kafka_event_ListConsumerGroupOffsets_result(event.get()), &count);
    const rd_kafka_topic_partition_t& found = rd_kafka_group_result_partitions(groups[0])->elems[0];
    if (found.err == RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT && Reader::Clock::now() < deadline) continue;
    check(found.err, what);
    return found.offset;
  }
}

void Client::set_group_offset(const std::string& group, const std::string& topic, int32_t partition,
                              int64_t offset) {
  const Partitions list = one_partition(topic, partition, offset);
  Owned<rd_kafka_AlterConsumerGroupOffsets_t, rd_kafka_AlterConsumerGroupOffsets_destroy> request(
      rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), list.get()));
  rd_kafka_AlterConsumerGroupOffsets_t* all[] = {request.get()};
  const Event event = administer(handle(), RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS,
                                 "set offsets of " + group, [&](auto* options, auto* queue) {
                                   rd_kafka_AlterConsumerGroupOffsets(handle(), all, 1, options, queue);
                                 });
  size_t count = 0;
  const rd_kafka_group_result_t** groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
      rd_kafka_event_AlterConsumerGroupOffsets_result(event.get()), &count);
  check_partitions(rd_kafka_group_result_partitions(groups[0]), "set offsets of " + group);
}

// A broker that has not learned of a new topic yet may be asked about it. Then nothing is written.
void Client::produce(const std::string& topic, std::vector<Message>& messages) {
  const auto deadline = Reader::Clock::now() + std::chrono::seconds(30);
  rd_kafka_resp_err_t error = send(topic, messages);
  while ((error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) &&
         std::all_of(messages.begin(), messages.end(), [](const Message& m) { return m.offset < 0; }) &&
         Reader::Clock::now() < deadline) {
    rd_kafka_poll(handle(), 100);
    error = send(topic, messages);
  }
  check(error, "produce to " + topic);
  for (Message& m : messages) m.topic = topic;
}

rd_kafka_resp_err_t Client::send(const std::string& topic, std::vector<Message>& messages) {
  size_t left = messages.size();
  rd_kafka_resp_err_t failed = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::vector<Delivery> deliveries;
  for (Message& m : messages) {
    m.offset = -1;
    deliveries.push_back({.message = &m, .left = &left, .error = &failed});
  }
  for (Delivery& d : deliveries) {
    const Message& m = *d.message;
    rd_kafka_headers_t* headers = rd_kafka_headers_new(m.headers.size());
    for (const auto& [name, value] : m.headers)
      rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()),
                          value ? value->data() : nullptr, value ? static_cast<ssize_t>(value->size()) : 0);
    const auto data = [](const auto& field) -> void* {
      return field ? const_cast<char*>(field->data()) : nullptr;
    };
    const auto size = [](const auto& field) -> size_t { return field ? field->size() : 0; };
    rd_kafka_resp_err_t error{};
    do {
      error = rd_kafka_producev(
          handle(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(m.partition),
          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_TIMESTAMP(m.timestamp_ms),
          RD_KAFKA_V_KEY((data(m.key)), (size(m.key))), RD_KAFKA_V_VALUE((data(m.value)), (size(m.value))),
          RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE((&d)), RD_KAFKA_V_END);
      if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) rd_kafka_poll(handle(), 100);
    } while (error == RD_KAFKA_RESP_ERR__QUEUE_FULL);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_headers_destroy(headers);
      rd_kafka_purge(handle(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
      rd_kafka_flush(handle(), kTimeoutMs);
      return error;
    }
  }
  check(rd_kafka_flush(handle(), 2 * kTimeoutMs), "produce to " + topic);
  if (failed == RD_KAFKA_RESP_ERR_NO_ERROR && left != 0)
    throw KafkaError("produce to " + topic + ": not all were acknowledged");
  return failed;
}

void Client::produce(const std::string& topic, Message message) {
  std::vector<Message> one;
  one.push_back(std::move(message));
  produce(topic, one);
}

Reader::Reader(const std::string& bootstrap, const std::string& topic, const Properties& properties)
    : bootstrap_(bootstrap), topic_(topic) {
  Properties all{{"group.id", "reader-of-tests"},
                 {"isolation.level", "read_committed"},
                 {"enable.auto.commit", "false"},
                 {"auto.offset.reset", "earliest"},
                 {"fetch.message.max.bytes", "100000000"},
                 {"receive.message.max.bytes", "200000000"},
                 {"fetch.wait.max.ms", "20"},
                 {"enable.partition.eof", "true"}};
  for (const auto& [name, value] : properties) all[name] = value;
  uncommitted_ = all;
  uncommitted_["isolation.level"] = "read_uncommitted";
  handle_ = make_client(RD_KAFKA_CONSUMER, bootstrap, all);
  rd_kafka_poll_set_consumer(handle_.get());
  const Metadata metadata = metadata_of(handle_.get(), topic);
  const auto* t = topic_in(metadata);
  if (t == nullptr || t->err != RD_KAFKA_RESP_ERR_NO_ERROR) throw KafkaError("no topic " + topic);
  partitions_ = t->partition_cnt;
  const Partitions list(rd_kafka_topic_partition_list_new(partitions_));
  for (int p = 0; p < partitions_; ++p)
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), p)->offset = RD_KAFKA_OFFSET_BEGINNING;
  position_.assign(partitions_, 0);
  check(rd_kafka_assign(handle_.get(), list.get()), "assign " + topic);
}

std::optional<Message> Reader::poll(int timeout_ms) {
  const Owned<rd_kafka_message_t, rd_kafka_message_destroy> m(
      rd_kafka_consumer_poll(handle_.get(), timeout_ms));
  if (m == nullptr) return std::nullopt;
  if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) position_[m->partition] = m->offset;
  if (m->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || m->err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
      m->err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
    check(m->err, "read " + topic_);
  if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;  // connections come and go
  position_[m->partition] = m->offset + 1;
  return to_message(m.get());
}

namespace {
bool is_passing(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
         error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || error == RD_KAFKA_RESP_ERR__TRANSPORT ||
         error == RD_KAFKA_RESP_ERR__TIMED_OUT;
}
}  // namespace

// The begin and the end of the partition for a client. For a client that reads committed records, the
// partition ends at the first open transaction.
Reader::Extent Reader::extent(rd_kafka_t* client, int32_t partition, Clock::time_point deadline) const {
  Extent out;
  rd_kafka_resp_err_t error{};
  do {  // a new leader may not know yet that it is the leader, and we may not know it
    error =
        rd_kafka_query_watermark_offsets(client, topic_.c_str(), partition, &out.begin, &out.end, kTimeoutMs);
  } while (is_passing(error) && Clock::now() < deadline);
  check(error, "end of " + topic_);
  return out;
}

// Compares positions, not offsets of records, because the end of a transaction takes an offset, and
// compaction leaves gaps.
std::vector<Message> Reader::read_to_end(std::chrono::seconds patience_with_open) {
  const auto begin = Clock::now(), deadline = begin + std::chrono::seconds(120);
  // A commit is acknowledged before its markers are written to all partitions.
  const ClientHandle uncommitted = make_client(RD_KAFKA_CONSUMER, bootstrap_, uncommitted_);
  std::vector<int64_t> end(partitions_);
  for (int p = 0; p < partitions_; ++p) {
    const int64_t written = extent(uncommitted.get(), p, deadline).end;
    Extent committed = extent(handle_.get(), p, deadline);
    while (committed.end < written && Clock::now() < begin + patience_with_open)
      committed = extent(handle_.get(), p, deadline);
    end[p] = committed.end;
    if (committed.begin == committed.end) position_[p] = std::max(position_[p], end[p]);
  }
  const auto there = [&] {
    for (int p = 0; p < partitions_; ++p) {
      if (position_[p] < end[p]) return false;
    }
    return true;
  };
  std::vector<Message> out;
  while (!there()) {
    if (Clock::now() > deadline) throw KafkaError("the end of " + topic_ + " does not come");
    if (auto m = poll(1'000)) out.push_back(std::move(*m));
  }
  return out;
}

std::optional<Message> Reader::next(std::chrono::milliseconds patience) {
  return poll(static_cast<int>(patience.count()));
}

std::vector<Message> Reader::read(size_t count, std::chrono::seconds patience) {
  const auto deadline = Clock::now() + patience;
  std::vector<Message> out;
  while (out.size() < count) {
    if (Clock::now() > deadline)
      throw KafkaError(
          fmt::format("{}: {} of {} messages in {} s", topic_, out.size(), count, patience.count()));
    if (auto m = poll(1'000)) out.push_back(std::move(*m));
  }
  return out;
}

std::vector<Message> read_all(const std::string& bootstrap, const std::string& topic,
                              const Properties& properties) {
  return Reader(bootstrap, topic, properties).read_to_end();
}

}  // namespace doppel::testing
