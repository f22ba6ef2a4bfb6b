#include "metrics/fetch_metrics.h"

#include <utility>

namespace doppel {

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
