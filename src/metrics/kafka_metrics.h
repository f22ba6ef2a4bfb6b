#pragma once
// Kafka's side of the stream: lag, partitions, transactions, and what matters of the library's statistics.

#include <vector>

#include "kafka/statistics.h"
#include "metrics/families.h"
#include "metrics/stream_metrics.h"

namespace doppel {

// Copied from where they are counted.
struct TransactionCounts {
  uint64_t commits = 0, aborts = 0, fenced = 0, recoveries = 0;
};
void collect_transactions(Families& out, const TransactionCounts& counts);

// `settled` is how far the verdicts are; `queue_limit` what the fetch queue may hold.
void collect_consumer(Families& out, const kafka::ConsumerStatistics& statistics,
                      const std::vector<SettledPartition>& settled, uint64_t queue_limit, int64_t now_ms);

// Records of a partition that are not settled; -1: not known. Commit markers at the end of a partition are
// no records.
int64_t lag_of(const kafka::ConsumerStatistics::Partition& partition, const SettledPartition& settled);

}  // namespace doppel
