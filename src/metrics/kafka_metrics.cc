#include "metrics/kafka_metrics.h"

#include <algorithm>
#include <map>
#include <utility>

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
  for (const auto& [topic, incarnation] : statistics.incarnations)
    out.gauge("doppel_input_incarnation",
              "Which topic of this name doppel reads; it grows when the topic is created again.", incarnation,
              {{"topic", topic}});
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  out.gauge("doppel_assigned_partitions", "Partitions that doppel reads.",
            number(statistics.partitions.size()));
  out.counter("doppel_rebalances_total",
              "Rebalances of the group; doppel assigns itself all partitions, so 0 is normal.",
              number(statistics.rebalances));
  const uint64_t queued = statistics.queued_bytes();
  out.gauge("doppel_fetch_queue_bytes", "Fetched records that doppel has not taken yet.", number(queued));
  out.gauge("doppel_fetch_queue_limit_bytes", "Where fetching pauses (queued.max.messages.kbytes).",
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

namespace {

double number(uint64_t value) { return static_cast<double>(value); }
double seconds(int64_t since_ms, int64_t now_ms) {
  return since_ms == 0 || now_ms < since_ms ? 0 : static_cast<double>(now_ms - since_ms) / 1e3;
}

void collect_role(Families& out, const char* role, const std::string& shards) {
  out.gauge("doppel_cluster_role", "The role of this process in an index on many machines: 1.", 1,
            {{"role", role}, {"shards", shards}});
}

}  // namespace

void collect_resolver(Families& out, const ResolverStatus& status, int64_t now_ms) {
  collect_role(out, "resolver", "");
  out.gauge("doppel_cluster_wait_seconds",
            "How long a batch has been waiting for the answers of some shards; 0: it is not waiting.",
            seconds(status.waiting_since_ms, now_ms));
  out.gauge("doppel_cluster_window_originals",
            "Originals that are decided and that the matchers' answers do not cover yet.",
            number(status.window_originals));
  out.gauge("doppel_cluster_ahead_limit", "How far matchers answer beyond the last commit (cluster.ahead).",
            number(status.ahead_most));
  const char* questions =
      "Questions to the matchers: a batch without answers in time, or one document again.";
  out.counter("doppel_cluster_questions_total", questions, number(status.asked_batches),
              {{"about", "batch"}});
  out.counter("doppel_cluster_questions_total", questions, number(status.asked_documents),
              {{"about", "document"}});
  for (const ResolverStatus::Matcher& matcher : status.matchers) {
    const Labels labels{{"shards", matcher.shards}};
    out.gauge("doppel_cluster_matcher_ahead_records",
              "Records of the order that these shards have answered and that are not decided.",
              number(matcher.ahead), labels);
    out.gauge("doppel_cluster_matcher_behind_batches",
              "Batches that were decided and that the last answer of these shards does not know.",
              number(matcher.behind_batches), labels);
    out.gauge("doppel_cluster_matcher_last_answer_timestamp_seconds",
              "When the last answer of these shards came.", static_cast<double>(matcher.heard_ms) / 1e3,
              labels);
  }
}

void collect_signer(Families& out, const SignerStatus& status) {
  collect_role(out, "signer", "");
  out.counter("doppel_signer_records_total", "Records that were signed and committed.",
              number(status.records));
  out.counter("doppel_signer_rejected_total",
              "Signed records that do not contain a document that can be decided.", number(status.rejected));
  const char* bytes = "Bytes of records that were signed: of the documents, and of the signed records.";
  out.counter("doppel_signer_bytes_total", bytes, number(status.bytes), {{"of", "documents"}});
  out.counter("doppel_signer_bytes_total", bytes, number(status.signed_bytes), {{"of", "signed"}});
  out.gauge("doppel_last_commit_timestamp_seconds", "When the last batch was committed; 0: none yet.",
            static_cast<double>(status.last_commit_ms) / 1e3);
}

void collect_matcher(Families& out, const MatcherStatus& status) {
  collect_role(out, "matcher", status.shards);
  out.gauge("doppel_matcher_log_lag_records", "Records of the index log that are not applied.",
            static_cast<double>(status.log_behind));
  out.gauge("doppel_matcher_ahead_documents", "Documents that are answered and not committed.",
            number(status.ahead));
  out.gauge("doppel_cluster_ahead_limit", "How far matchers answer beyond the last commit (cluster.ahead).",
            number(status.ahead_most));
  out.counter("doppel_matcher_answered_documents_total", "Documents that were answered.",
              number(status.answered));
  out.counter("doppel_matcher_found_documents_total", "Answered documents of which something is known here.",
              number(status.found));
  out.counter("doppel_matcher_answered_again_total",
              "Documents that were answered again in the midst of a batch.", number(status.answered_again));
}

void collect_http(Families& out, const http::Counts& counts) {
  std::map<int, uint64_t> responses = counts.responses;
  responses.try_emplace(200, 0);
  for (const auto& [status, n] : responses) {
    out.counter("doppel_http_requests_total", "Requests that were answered, without probes.",
                static_cast<double>(n), {{"status", std::to_string(status)}});
  }
  Distribution times({counts.kTimes.begin(), counts.kTimes.end()});
  for (size_t i = 0; i < counts.times.size(); ++i) times.add(i, counts.times[i], 0);
  times.add(0, 0, counts.seconds);
  out.histogram("doppel_http_request_duration_seconds", "From the head of a request to its answer.", times);
  out.gauge("doppel_http_requests_waiting", "Requests that have no answer yet.",
            static_cast<double>(counts.waiting));
  out.gauge("doppel_http_connections", "Open connections.", static_cast<double>(counts.connections));
  out.gauge("doppel_http_body_bytes", "Bodies in memory.", static_cast<double>(counts.body_bytes));
  out.gauge("doppel_http_body_bytes_limit", "The most bodies in memory.",
            static_cast<double>(counts.body_bytes_most));
}

void collect_fetches(Families& out, const FetchCounts& counts) {
  for (size_t i = 0; i < kFetchResults; ++i) {
    const auto result = static_cast<FetchResult>(i);
    out.counter("doppel_fetches_total", "Reads of records in WARC files, by result.",
                static_cast<double>(counts.of(result)), {{"result", std::string(fetch_result_name(result))}});
  }
  out.counter("doppel_fetch_retries_total", "Repeated reads in WARC files.",
              static_cast<double>(counts.retries));
  out.counter("doppel_fetched_bytes_total", "Bytes of the records that were read in WARC files.",
              static_cast<double>(counts.bytes));
}

void collect_schemas(Families& out, const SchemaStats& stats) {
  const std::pair<const char*, const std::atomic<uint64_t>*> results[] = {{"found", &stats.found},
                                                                          {"unknown", &stats.unknown},
                                                                          {"unusable", &stats.unusable},
                                                                          {"failed", &stats.failed}};
  for (const auto& [result, count] : results) {
    out.counter("doppel_schema_requests_total", "Requests to the schema registry, by result.",
                static_cast<double>(count->load()), {{"result", result}});
  }
  out.gauge("doppel_schema_registry_waiting", "1 while the stream waits for the schema registry.",
            stats.waiting ? 1 : 0);
}

}  // namespace doppel
