#pragma once
// Metrics of what a daemon stands on: its HTTP server, Kafka, the other machines of its index, records and
// schemas that it fetches. Of Kafka: lag, partitions, transactions, and the useful part of the library's
// statistics.

#include <vector>

#include "fetch/fetch_pool.h"
#include "fetch/schema_source.h"
#include "http/server.h"
#include "kafka/statistics.h"
#include "metrics/families.h"
#include "metrics/stream_metrics.h"
#include "status/cluster_status.h"

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

// Metrics of an index on many machines, one function for each role.
void collect_resolver(Families& out, const ResolverStatus& status, int64_t now_ms);
void collect_signer(Families& out, const SignerStatus& status);
void collect_matcher(Families& out, const MatcherStatus& status);

// Metrics of the HTTP server.
void collect_http(Families& out, const http::Counts& counts);

// Metrics of records that are fetched from WARC files, and of schemas from a registry.
void collect_fetches(Families& out, const FetchCounts& counts);
void collect_schemas(Families& out, const SchemaStats& stats);

}  // namespace doppel
