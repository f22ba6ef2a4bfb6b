// What no consumer of the same topic can do without: reading it, and writing in transactions as much as
// doppel writes. Both take what the library hands out, look at nothing, and let it go.

#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "clients.h"

namespace doppel::bench {
namespace {

constexpr size_t kEventBytes = 600, kLogBytes = 1100;  // of one message's value, as doppel writes them
constexpr int kOfTen = 3;                              // documents in ten that are copies

struct Queue {
  explicit Queue(rd_kafka_t* client) : handle(rd_kafka_queue_get_consumer(client)) {}
  ~Queue() { rd_kafka_queue_destroy(handle); }
  rd_kafka_queue_t* handle;
};

// Up to `wanted` messages; throws after half a minute without one.
size_t take(const Queue& queue, std::vector<rd_kafka_message_t*>& messages, size_t wanted) {
  size_t n = 0;
  const double start = now();
  while (n < wanted) {
    const ssize_t got = rd_kafka_consume_batch_queue(queue.handle, 100, messages.data() + n, wanted - n);
    for (ssize_t i = 0; i < got; ++i) check(messages[n + i]->err, "consume");
    n += got > 0 ? static_cast<size_t>(got) : 0;
    if (now() - start > 30) throw std::runtime_error("no message for 30 s");
  }
  return n;
}

void print(const Flags& flags, double seconds, double cpu_seconds) {
  const auto n = static_cast<double>(flags.docs);
  fmt::print("throughput {:.0f} documents/s\n", n / seconds);
  fmt::print("cpu {:.3f} us/document\n", cpu_seconds / n * 1e6);
}

std::string incompressible(size_t bytes) {
  std::string out(bytes, '\0');
  uint64_t state = 88172645463325252u;
  for (char& c : out) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    c = static_cast<char>(state >> 32);
  }
  return out;
}

}  // namespace

int drain(const Flags& flags) {
  const Handle consumer = make_consumer(flags, flags.topic, static_cast<int64_t>(flags.begin));
  const Queue queue(consumer.get());
  const double start = now(), cpu_start = cpu();
  std::vector<rd_kafka_message_t*> messages(flags.batch);
  for (uint64_t left = flags.docs; left > 0;) {
    const size_t n = take(queue, messages, std::min<uint64_t>(left, messages.size()));
    for (size_t i = 0; i < n; ++i) rd_kafka_message_destroy(messages[i]);
    left -= n;
  }
  print(flags, now() - start, cpu() - cpu_start);
  return 0;
}

int noop(const Flags& flags) {
  make_topic(flags, flags.events, 6, {});
  make_topic(flags, flags.log, 1, {{"cleanup.policy", "compact"}, {"min.compaction.lag.ms", "60000"}});
  const Handle producer = make_client(RD_KAFKA_PRODUCER, flags,
                                      {{"transactional.id", flags.group + "/" + flags.log},
                                       {"retry.backoff.ms", "10"},
                                       {"queue.buffering.max.messages", "10000000"},
                                       {"queue.buffering.max.kbytes", "2097151"},
                                       {"linger.ms", "5"}});
  check(rd_kafka_init_transactions(producer.get(), 30'000), "init_transactions");
  rd_kafka_topic_t* events = rd_kafka_topic_new(producer.get(), flags.events.c_str(), nullptr);
  rd_kafka_topic_t* log = rd_kafka_topic_new(producer.get(), flags.log.c_str(), nullptr);
  for (rd_kafka_topic_t* topic : {events, log}) {  // else the first transaction waits for this
    const rd_kafka_metadata_t* metadata = nullptr;
    check(rd_kafka_metadata(producer.get(), 0, topic, &metadata, 10'000), "metadata");
    rd_kafka_metadata_destroy(metadata);
  }
  std::string random = incompressible(kLogBytes * 16);
  std::vector<uint64_t> keys(flags.batch);

  const Handle consumer = make_consumer(flags, flags.topic, static_cast<int64_t>(flags.begin));
  const Queue queue(consumer.get());
  rd_kafka_consumer_group_metadata_t* group = rd_kafka_consumer_group_metadata(consumer.get());
  const double start = now(), cpu_start = cpu();
  std::vector<rd_kafka_message_t*> messages(flags.batch);
  for (uint64_t done = 0; done < flags.docs;) {
    const size_t n = take(queue, messages, std::min<uint64_t>(flags.docs - done, messages.size()));
    check(rd_kafka_begin_transaction(producer.get()), "begin_transaction");
    for (size_t i = 0; i < n; ++i) {
      const bool event = (done + i) % 10 < kOfTen;
      keys[i] = done + i;
      check(rd_kafka_producev(producer.get(), RD_KAFKA_V_RKT(event ? events : log),
                              RD_KAFKA_V_PARTITION(event ? RD_KAFKA_PARTITION_UA : 0), RD_KAFKA_V_MSGFLAGS(0),
                              RD_KAFKA_V_KEY(event ? nullptr : static_cast<const void*>(&keys[i]),
                                             event ? 0 : sizeof keys[i]),
                              RD_KAFKA_V_VALUE(&random[i % 16 * 64], event ? kEventBytes : kLogBytes),
                              RD_KAFKA_V_END),
            "produce");
      rd_kafka_message_destroy(messages[i]);
    }
    done += n;
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, flags.topic.c_str(), 0)->offset =
        static_cast<int64_t>(flags.begin + done);
    check(rd_kafka_send_offsets_to_transaction(producer.get(), list, group, 30'000), "send_offsets");
    rd_kafka_topic_partition_list_destroy(list);
    check(rd_kafka_commit_transaction(producer.get(), 30'000), "commit");
  }
  print(flags, now() - start, cpu() - cpu_start);
  rd_kafka_consumer_group_metadata_destroy(group);
  rd_kafka_topic_destroy(events);
  rd_kafka_topic_destroy(log);
  return 0;
}

// Without disturbing: a query of the log's end now and then; the group is only asked when that has stopped.
int await(const Flags& flags) {
  const Handle client = make_client(RD_KAFKA_CONSUMER, flags, {{"group.id", flags.group}});
  auto wanted = static_cast<int64_t>(flags.begin + flags.docs);
  if (flags.docs == 0) {  // all that is there; the last record may be a transaction's marker
    int64_t low = 0;
    check(rd_kafka_query_watermark_offsets(client.get(), flags.topic.c_str(), 0, &low, &wanted, 30'000),
          "the topic's end");
    --wanted;
  }
  int64_t end = -1;
  double changed = now(), sampled = 0;
  const double start = changed;
  while (true) {
    int64_t low = 0, high = 0;
    check(rd_kafka_query_watermark_offsets(client.get(), flags.log.c_str(), 0, &low, &high, 30'000),
          "the log's end");
    const double time = now();
    if (time >= sampled + 0.5) {
      fmt::print("cell {:.3f} {}\n", time - start, high);
      sampled = time;
    }
    if (high != end) {
      end = high;
      changed = time;
    } else if (time - changed > 0.3) {
      rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
      rd_kafka_topic_partition_list_add(list, flags.topic.c_str(), 0);
      const rd_kafka_resp_err_t code = rd_kafka_committed(client.get(), list, 1000);
      const int64_t offset = code == RD_KAFKA_RESP_ERR_NO_ERROR ? list->elems[0].offset : -1;
      rd_kafka_topic_partition_list_destroy(list);
      if (offset >= wanted) break;
    }
    if (time - changed > 120) throw std::runtime_error("the daemon writes nothing for two minutes");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fmt::print("started {:.4f} s\n", start);  // by the monotonic clock, which all processes share
  fmt::print("seconds {:.4f} s\n", changed - start);
  fmt::print("log_records {} records\n", end);
  return 0;
}

}  // namespace doppel::bench
