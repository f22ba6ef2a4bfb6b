#include "clients.h"

#include <fmt/format.h>

#include <array>

#include "oracle/corpus.h"

namespace doppel::bench {

void check(rd_kafka_resp_err_t code, const char* what) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    throw std::runtime_error(fmt::format("{}: {}", what, rd_kafka_err2str(code)));
}

void check(rd_kafka_error_t* error, const char* what) {
  if (error == nullptr) return;
  const std::string text = fmt::format("{}: {}", what, rd_kafka_error_string(error));
  rd_kafka_error_destroy(error);
  throw std::runtime_error(text);
}

Handle make_client(rd_kafka_type_t type, const Flags& flags, const Properties& properties) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  std::array<char, 256> message{};
  const auto set = [&](const std::string& name, const std::string& value) {
    const bool may_lack = name.ends_with('?');
    const std::string bare = name.substr(0, name.size() - (may_lack ? 1 : 0));
    if (rd_kafka_conf_set(conf, bare.c_str(), value.c_str(), message.data(), message.size()) !=
            RD_KAFKA_CONF_OK &&
        !may_lack)
      throw std::runtime_error(message.data());
  };
  set("bootstrap.servers", flags.brokers);
  for (const auto& [name, value] : properties) set(name, value);
  rd_kafka_t* client = rd_kafka_new(type, conf, message.data(), message.size());
  if (client == nullptr) throw std::runtime_error(message.data());
  return Handle(client);
}

Handle make_consumer(const Flags& flags, const std::string& topic, int64_t offset) {
  Handle consumer = make_client(RD_KAFKA_CONSUMER, flags,
                                {{"group.id", flags.group},
                                 {"enable.auto.commit", "false"},
                                 {"enable.auto.offset.store", "false"},
                                 {"auto.offset.reset", "error"},
                                 {"queued.max.messages.kbytes", "262144"},
                                 {"queued.min.messages", "1000000"},
                                 {"fetch.queue.backoff.ms?", "5"}});
  rd_kafka_poll_set_consumer(consumer.get());
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), 0)->offset = offset;
  const rd_kafka_resp_err_t code = rd_kafka_assign(consumer.get(), list);
  rd_kafka_topic_partition_list_destroy(list);
  check(code, "assign");
  return consumer;
}

void make_topic(const Flags& flags, const std::string& name, int partitions, const Properties& configs) {
  const Handle client = make_client(RD_KAFKA_PRODUCER, flags, {});
  std::array<char, 256> message{};
  rd_kafka_NewTopic_t* topic =
      rd_kafka_NewTopic_new(name.c_str(), partitions, -1, message.data(), message.size());
  for (const auto& [key, value] : configs) rd_kafka_NewTopic_set_config(topic, key.c_str(), value.c_str());
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client.get());
  rd_kafka_CreateTopics(client.get(), &topic, 1, nullptr, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, 30'000);
  if (event == nullptr) throw std::runtime_error("no answer from the broker");
  const rd_kafka_CreateTopics_result_t* result = rd_kafka_event_CreateTopics_result(event);
  check(rd_kafka_event_error(event), "create topic");
  size_t n = 0;
  const rd_kafka_topic_result_t** each = rd_kafka_CreateTopics_result_topics(result, &n);
  const rd_kafka_resp_err_t code = n == 1 ? rd_kafka_topic_result_error(each[0]) : RD_KAFKA_RESP_ERR_UNKNOWN;
  if (code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) check(code, "create topic");
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_NewTopic_destroy(topic);
}

namespace {

// Originals, and in ten documents three copies of the first `begin` ones: of nothing that came just before.
std::string make_later(const oracle::CorpusOptions& corpus, uint64_t begin, uint64_t number) {
  const bool copy = number % 10 < 3 && begin > 0;
  uint64_t from = copy ? number * 0x9e3779b97f4a7c15u % begin : begin + (number - begin) * 8;
  while (true) {
    const oracle::CorpusDocument document = oracle::make_document(corpus, from);
    if (document.origin.has_value() == copy) return oracle::to_json(document);
    from = copy ? (from + 1) % begin : from + 1;
  }
}

}  // namespace

std::string make_json(const Flags& flags, uint64_t number) {
  const oracle::CorpusOptions corpus{.seed = 1, .english = true, .copies = 0.3};
  if (flags.kind == "english") return oracle::to_json(oracle::make_document(corpus, number));
  if (flags.kind == "later") return make_later(corpus, flags.begin, number);
  // Short and all different, cheap to make: where what counts is the size of the index.
  constexpr int kWords = 40;
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzaeiouy";
  std::string out = fmt::format(R"({{"id":"s{0}","url":"https://example.org/{0}","text":")", number);
  uint64_t state = number * 0x9e3779b97f4a7c15u + 1;
  for (int w = 0; w < kWords; ++w) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    for (int l = 0; l < 6; ++l) out.push_back(kLetters[state >> (5 * l + 20) & 31]);
    out.push_back(' ');
  }
  out += "\"}";
  return out;
}

}  // namespace doppel::bench
