#include "metrics/fetch_metrics.h"

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

}  // namespace doppel
