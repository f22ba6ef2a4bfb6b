// Documents into a topic of one partition, as producers send them: batches, compressed.

#include <fmt/format.h>

#include <algorithm>

#include "clients.h"

namespace doppel::bench {

int fill(const Flags& flags) {
  make_topic(flags, flags.topic, flags.partitions, {{"retention.ms", "-1"}});
  const Handle producer = make_client(RD_KAFKA_PRODUCER, flags,
                                      {{"compression.type", flags.codec},
                                       {"linger.ms", "20"},
                                       {"batch.size", "1000000"},
                                       {"enable.idempotence", "true"},
                                       {"queue.buffering.max.kbytes", "262144"}});
  uint64_t bytes = 0;
  for (uint64_t i = flags.begin; i < flags.begin + flags.docs; ++i) {
    std::string json = make_json(flags, i);
    bytes += json.size();
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    do {
      code = rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC(flags.topic.c_str()),
                               RD_KAFKA_V_PARTITION(static_cast<int32_t>(i % flags.partitions)),
                               RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                               RD_KAFKA_V_VALUE(json.data(), json.size()), RD_KAFKA_V_END);
      rd_kafka_poll(producer.get(), code == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 100 : 0);
    } while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL);
    check(code, "produce");
  }
  check(rd_kafka_flush(producer.get(), 120'000), "flush");
  fmt::print("document_bytes {:.0f} bytes\n",
             static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(1, flags.docs)));
  return 0;
}

}  // namespace doppel::bench
