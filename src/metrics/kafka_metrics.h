#pragma once
// Metrics of Kafka: lag, partitions, transactions, and the useful part of the library's statistics.

#include <vector>

#include "kafka/statistics.h"
#include "metrics/families.h"
#include "metrics/stream_metrics.h"

namespace doppel {

struct TransactionCounts {
  uint64_t commits = 0, aborts = 0, fenced = 0, recoveries = 0;
  double throttled_s = 0;
};
void collect_transactions(Families& out, const TransactionCounts& counts);

// `settled` says up to where verdicts are settled; `queue_limit` is the most bytes in the fetch queue.
void collect_consumer(Families& out, const kafka::ConsumerStatistics& statistics,
                      const std::vector<SettledPartition>& settled, uint64_t queue_limit, int64_t now_ms);

// The number of records of a partition that are not settled; -1 if unknown. Commit markers at the end of a
// partition do not count.
int64_t lag_of(const kafka::ConsumerStatistics::Partition& partition, const SettledPartition& settled);

}  // namespace doppel
