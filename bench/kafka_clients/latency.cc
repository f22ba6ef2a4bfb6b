// Documents at a steady rate, and how long after produce() the event of each copy can be read by a consumer
// that sees committed records only.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <thread>

#include "clients.h"

namespace doppel::bench {
namespace {

constexpr double kWarmSeconds = 3;

// The number in "document":{"id":"NUMBER..., counted from the topic's name: "offset":N of the document.
int64_t document_offset(std::string_view event) {
  size_t at = event.find("\"document\":");
  at = at == std::string_view::npos ? at : event.find("\"offset\":", at);
  if (at == std::string_view::npos) return -1;
  return std::strtoll(event.data() + at + 9, nullptr, 10);
}

}  // namespace

int latency(const Flags& flags) {
  const auto total = static_cast<uint64_t>(flags.rate * flags.seconds);
  std::vector<std::string> documents;
  for (uint64_t i = 0; i < total; ++i) documents.push_back(make_json(flags, i));
  std::vector<std::atomic<double>> sent(total);

  // All partitions of the events, from their ends.
  const Handle reader = make_client(RD_KAFKA_CONSUMER, flags,
                                    {{"group.id", flags.group + "-reader"},
                                     {"isolation.level", "read_committed"},
                                     {"enable.auto.commit", "false"},
                                     {"fetch.wait.max.ms", "10"}});
  rd_kafka_poll_set_consumer(reader.get());
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(6);
  for (int p = 0; p < 6; ++p) {
    int64_t low = 0, high = 0;
    check(rd_kafka_query_watermark_offsets(reader.get(), flags.events.c_str(), p, &low, &high, 30'000),
          "offsets");
    rd_kafka_topic_partition_list_add(list, flags.events.c_str(), p)->offset = high;
  }
  check(rd_kafka_assign(reader.get(), list), "assign");
  rd_kafka_topic_partition_list_destroy(list);

  std::vector<double> waits;
  std::atomic<bool> done = false;
  std::thread consumer([&] {
    constexpr int64_t kLast = 100;  // an event of one of these: nearly all have come
    double last = now(), patience = flags.patience;
    while (!done || now() - last < patience) {
      rd_kafka_message_t* m = rd_kafka_consumer_poll(reader.get(), 100);
      if (m == nullptr) continue;
      const double time = last = now();
      const int64_t offset = m->err == RD_KAFKA_RESP_ERR_NO_ERROR
                                 ? document_offset({static_cast<const char*>(m->payload), m->len}) -
                                       static_cast<int64_t>(flags.begin)
                                 : -1;
      if (offset >= static_cast<int64_t>(total) - kLast) patience = std::min(patience, 2.0);
      if (offset >= static_cast<int64_t>(flags.rate * kWarmSeconds) && offset < static_cast<int64_t>(total))
        waits.push_back(time - sent[offset]);
      rd_kafka_message_destroy(m);
    }
  });

  {
    const Handle producer =
        make_client(RD_KAFKA_PRODUCER, flags,
                    {{"compression.type", flags.codec}, {"linger.ms", "0"}, {"enable.idempotence", "true"}});
    const double start = now();
    for (uint64_t i = 0; i < total; ++i) {
      const double due = start + static_cast<double>(i) / flags.rate;
      while (now() < due) {
        rd_kafka_poll(producer.get(), 0);
        std::this_thread::sleep_for(std::chrono::duration<double>(std::max(0.0, due - now())));
      }
      sent[i] = now();
      check(rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC(flags.topic.c_str()), RD_KAFKA_V_PARTITION(0),
                              RD_KAFKA_V_MSGFLAGS(0),
                              RD_KAFKA_V_VALUE(documents[i].data(), documents[i].size()), RD_KAFKA_V_END),
            "produce");
    }
    check(rd_kafka_flush(producer.get(), 60'000), "flush");
  }
  done = true;
  consumer.join();
  std::sort(waits.begin(), waits.end());
  if (waits.empty()) throw std::runtime_error("no event came");
  const auto at = [&](double share) {
    return waits[static_cast<size_t>(share * static_cast<double>(waits.size() - 1))] * 1e3;
  };
  fmt::print("events {} events\n", waits.size());
  fmt::print("p50 {:.2f} ms\np99 {:.2f} ms\nworst {:.2f} ms\n", at(0.5), at(0.99), at(1));
  return 0;
}

}  // namespace doppel::bench
