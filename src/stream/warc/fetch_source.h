#pragma once
// FETCH: records that only point into WARC files get the records that they point to. Everything else of a
// source, above all its order, stays as it is.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "formats/decoder.h"
#include "stream/stream.h"
#include "stream/warc/warc_root.h"

namespace doppel {

struct FetchOptions {
  std::vector<std::string> roots;  // tried in order
  int parallel = 16;               // reads under way at once
  int64_t max_wait_ms = 600'000;   // how long a root that does not answer is waited for
  WarcRootOptions root;
  FormatOptions format;
  // Asked while waiting: true ends it.
  std::function<bool()> stop = [] { return false; };
};

// Whether records of this format point into WARC files, and there is a place to look for these.
bool fetches(const FetchOptions& options);

// While a root does not answer, next() waits, and with it the stream; after max_wait the record is given up.
// `inner` outlives the result. What could not be read has the reason in Record::not_fetched.
absl::StatusOr<std::unique_ptr<Source>> make_fetch_source(Source& inner, const FetchOptions& options);

}  // namespace doppel
