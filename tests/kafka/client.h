#pragma once
// Kafka operations that tests do themselves: make topics, produce, read committed records. Every failure
// throws KafkaError, which ends the test. One thread per object.

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace doppel::testing {

using Properties = std::map<std::string, std::string>;

struct KafkaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Message {
  std::optional<std::string> key, value;  // nullopt: null
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  int32_t partition = 0;
  int64_t timestamp_ms = 0;  // 0 when producing: now
  int64_t offset = -1;
  std::string topic;  // set when read

  // Returns the header's value; empty if there is none.
  std::string header(const std::string& name) const;
};

struct DestroyClient {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
};
using ClientHandle = std::unique_ptr<rd_kafka_t, DestroyClient>;
ClientHandle make_client(rd_kafka_type_t type, const std::string& bootstrap, const Properties& properties);

// Produces and administers.
class Client {
 public:
  explicit Client(const std::string& bootstrap, const Properties& properties = {});

  void create_topic(const std::string& name, int partitions = 1, const Properties& configs = {},
                    int replicas = -1);
  void delete_topic(const std::string& name);
  void add_partitions(const std::string& name, int total);
  // Removes the records below `offset`, as if retention had removed them.
  void delete_records(const std::string& topic, int32_t partition, int64_t offset);
  Properties topic_configs(const std::string& topic);
  // Leaves the other settings of the topic as they are.
  void set_topic_configs(const std::string& topic, const Properties& changes);
  // Hides the topic from a user, or shows it again. Needs a broker with tls_sasl, which has an authorizer.
  void hide_topic(const std::string& topic, const std::string& user);
  void show_topic(const std::string& topic, const std::string& user);
  bool topic_exists(const std::string& topic);
  int partitions(const std::string& topic);  // 0: the topic does not exist
  // Returns the node that leads a partition; -1: none at the moment.
  int leader(const std::string& topic, int32_t partition = 0);

  int64_t group_offset(const std::string& group, const std::string& topic, int32_t partition);  // -1001: none
  void set_group_offset(const std::string& group, const std::string& topic, int32_t partition,
                        int64_t offset);

  // Returns when all are acknowledged; sets offset and topic.
  void produce(const std::string& topic, std::vector<Message>& messages);
  void produce(const std::string& topic, Message message);

  rd_kafka_t* handle() { return handle_.get(); }

 private:
  void await_partitions(const std::string& topic, int count);
  rd_kafka_resp_err_t send(const std::string& topic, std::vector<Message>& messages);

  ClientHandle handle_;
};

// Follows one topic from the beginning of all its partitions, as a read_committed consumer.
class Reader {
 public:
  using Clock = std::chrono::steady_clock;

  Reader(const std::string& bootstrap, const std::string& topic, const Properties& properties = {});

  // Returns the records that are committed and were not returned before, ordered by offset within a
  // partition. Waits up to this long for open transactions: the broker may be about to mark them as
  // committed.
  std::vector<Message> read_to_end(std::chrono::seconds patience_with_open = std::chrono::seconds(5));
  // Returns the next record, if it comes in time.
  std::optional<Message> next(std::chrono::milliseconds patience);
  // Waits for at least `count` more records; throws after `patience`.
  std::vector<Message> read(size_t count, std::chrono::seconds patience = std::chrono::seconds(60));

 private:
  struct Extent {
    int64_t begin = 0, end = 0;
  };
  Extent extent(rd_kafka_t* client, int32_t partition, Clock::time_point deadline) const;
  std::optional<Message> poll(int timeout_ms);

  std::string bootstrap_, topic_;
  Properties uncommitted_;  // of a client that also sees uncommitted records
  int partitions_ = 0;
  ClientHandle handle_;
  std::vector<int64_t> position_;  // by partition
};

// Returns all records that are committed in a topic.
std::vector<Message> read_all(const std::string& bootstrap, const std::string& topic,
                              const Properties& properties = {});

}  // namespace doppel::testing
