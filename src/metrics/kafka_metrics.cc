#include "metrics/kafka_metrics.h"

#include <algorithm>

namespace doppel {
namespace {

void collect_lag(Families& out, const kafka::ConsumerStatistics::Partition& partition,
                 const std::vector<SettledPartition>& all_settled, int64_t now_ms) {
  const auto settled = std::find_if(all_settled.begin(), all_settled.end(), [&](const SettledPartition& s) {
    return s.topic == partition.topic && s.partition == partition.partition;
  });
  if (settled == all_settled.end()) return;
  const int64_t lag = lag_of(partition, *settled);
  if (lag < 0) return;
  const Labels labels{{"topic", partition.topic}, {"partition", std::to_string(partition.partition)}};
  out.gauge("doppel_consumer_lag_records", "Records of the partition that are not settled.",
            static_cast<double>(lag), labels);
  if (lag != 0 && settled->last_ms < 0) return;  // no record of the partition has been read yet
  const int64_t behind_ms = lag == 0 ? 0 : std::max<int64_t>(0, now_ms - settled->last_ms);
  out.gauge("doppel_consumer_lag_seconds", "Age of the last settled record while records wait; else 0.",
            static_cast<double>(behind_ms) / 1e3, labels);
}

}  // namespace

int64_t lag_of(const kafka::ConsumerStatistics::Partition& partition, const SettledPartition& settled) {
  if (partition.end < 0) return -1;
  const bool all_taken = partition.queued == 0 && partition.fetched >= partition.end;
  if (all_taken && settled.next >= partition.taken) return 0;
  return std::max<int64_t>(0, partition.end - settled.next);
}

void collect_transactions(Families& out, const TransactionCounts& counts) {
  out.counter("doppel_transactions_total", "Transactions committed.", static_cast<double>(counts.commits));
  out.counter("doppel_transaction_aborts_total",
              "Transactions that were aborted and whose batch was sent again.",
              static_cast<double>(counts.aborts));
  out.counter("doppel_transaction_fenced_total",
              "How often another producer or a time-out of the broker fenced doppel's producer.",
              static_cast<double>(counts.fenced));
  out.counter("doppel_transaction_recoveries_total",
              "How often doppel had to look up whether a transaction is committed.",
              static_cast<double>(counts.recoveries));
  out.counter("doppel_transaction_throttled_seconds_total",
              "How long broker quotas have throttled transactions.", counts.throttled_s);
}

void collect_consumer(Families& out, const kafka::ConsumerStatistics& statistics,
                      const std::vector<SettledPartition>& settled, uint64_t queue_limit, int64_t now_ms) {
  for (const auto& partition : statistics.partitions) collect_lag(out, partition, settled, now_ms);
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  out.gauge("doppel_assigned_partitions", "Partitions that doppel reads.",
            number(statistics.partitions.size()));
  out.counter("doppel_rebalances_total",
              "Rebalances of the group; doppel assigns itself all partitions, so 0 is normal.",
              number(statistics.rebalances));
  const uint64_t queued = statistics.queued_bytes();
  out.gauge("doppel_fetch_queue_bytes", "Fetched records that doppel has not taken yet.", number(queued));
  out.gauge("doppel_fetch_queue_limit_bytes", "Where fetching pauses (kafka.fetch_queue).",
            number(queue_limit));
  // A full queue pauses all partitions.
  const auto waiting =
      static_cast<uint64_t>(std::count_if(statistics.partitions.begin(), statistics.partitions.end(),
                                          [](const auto& partition) { return !partition.fetching; }));
  const uint64_t full = queued >= queue_limit ? statistics.partitions.size() - waiting : 0;
  constexpr std::string_view kPaused = "Partitions from which doppel fetches nothing at present.";
  out.gauge("doppel_paused_partitions", kPaused, number(full), {{"reason", "queue_full"}});
  out.gauge("doppel_paused_partitions", kPaused, number(waiting), {{"reason", "broker"}});

  out.counter("doppel_kafka_received_bytes_total", "Bytes of records received.",
              number(statistics.received_bytes));
  out.counter("doppel_kafka_received_records_total", "Records received.",
              number(statistics.received_records));
  out.counter("doppel_kafka_request_errors_total", "Failed requests and answers.",
              number(statistics.request_errors));
  out.counter("doppel_kafka_request_timeouts_total", "Requests without an answer in time.",
              number(statistics.request_timeouts));
  out.counter("doppel_kafka_disconnects_total", "Connections that ended, including idle ones.",
              number(statistics.disconnects));
  for (const auto& broker : statistics.brokers) {
    const Labels labels{{"broker", std::to_string(broker.id)}};
    out.gauge("doppel_kafka_broker_up", "1 if the consumer is connected to the broker.", broker.up ? 1 : 0,
              labels);
    out.gauge("doppel_kafka_broker_throttle_seconds",
              "How long the broker's quotas delay what doppel reads, on average.", broker.throttled_s,
              labels);
  }
}

}  // namespace doppel
