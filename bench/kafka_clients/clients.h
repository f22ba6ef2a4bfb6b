#pragma once
// What bench/kafka runs against a broker besides doppel itself. Each prints "name value unit" lines; what
// goes wrong throws, because a benchmark has nobody to recover for.

#include <librdkafka/rdkafka.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace doppel::bench {

struct Flags {
  std::string brokers, topic, events, log, group = "doppel-bench", codec = "lz4", kind = "english";
  uint64_t docs = 400'000, begin = 0;
  double rate = 1000, seconds = 30, patience = 2;
  int batch = 1000, partitions = 1;
};

int fill(const Flags& flags);     // documents into a topic
int drain(const Flags& flags);    // floor: a consumer that does nothing
int noop(const Flags& flags);     // floor: one that also writes as much as doppel does, in transactions
int latency(const Flags& flags);  // from produce() to the event in a read_committed consumer
int await(const Flags& flags);    // until a group has read so many documents, or all that are there

struct DestroyClient {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
};
using Handle = std::unique_ptr<rd_kafka_t, DestroyClient>;
using Properties = std::map<std::string, std::string>;

// A property whose name ends in '?' is left out where this version of the library does not know it.
Handle make_client(rd_kafka_type_t type, const Flags& flags, const Properties& properties);
// A consumer of partition 0 of a topic, from `offset`, with a queue that no second of input fills.
Handle make_consumer(const Flags& flags, const std::string& topic, int64_t offset);
void make_topic(const Flags& flags, const std::string& name, int partitions, const Properties& configs);
void check(rd_kafka_resp_err_t code, const char* what);
void check(rd_kafka_error_t* error, const char* what);  // takes ownership

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline double cpu() {  // of all threads, user and system
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The document of this number, as JSON.
std::string make_json(const Flags& flags, uint64_t number);

}  // namespace doppel::bench
