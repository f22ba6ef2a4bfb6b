#pragma once
// FETCH: records that only point into WARC files get the records that they point to. Everything else of a
// source, above all its order, stays as it is.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fetch/fetch_pool.h"
#include "fetch/warc_root.h"
#include "formats/decoder.h"
#include "pipeline/stream.h"

namespace doppel {

struct FetchOptions {
  std::vector<std::string> roots;  // tried in order
  std::vector<std::string> cdxj;   // files and directories that locate captures
  int parallel = 16;               // reads under way at once
  int64_t max_wait_ms = 600'000;   // how long a root that does not answer is waited for
  // Of records that were read and are not handed on yet. A source whose batches have a position cannot be
  // handed on in parts: it may hold more.
  uint64_t max_bytes = 64 << 20;
  WarcRootOptions root;
  FormatOptions format;
  // Whether an original of the same payload is known now: such a record is not read (Record::payload_known).
  // On the thread of next(); empty: none is.
  std::function<bool(const Document&)> knows_payload;
  // Asked by read_now() while a root is away: true ends it.
  std::function<bool()> stop = [] { return false; };
  // Why a record is not to be tried, as an earlier run found (Record::known_missing); empty: it is.
  std::function<std::string(const Record&)> known_missing;
};

// Whether records of this format point into WARC files, and there is a place to look for these.
bool fetches(const FetchOptions& options);

class FetchSource : public Source {
 public:
  // The record of one that was left out because its payload was known, and is not any more; `memory` keeps
  // it. Waits. From one thread, which may be another than that of next().
  virtual absl::Status read_now(Record& record, std::vector<std::shared_ptr<const void>>& memory) = 0;
  virtual FetchCounts counts() const = 0;  // from any thread
};

// Live or not: next() returns after a tenth of a second, with what is there. What is not fetched yet waits,
// and what comes after it waits with it, up to max_wait; then, or at once where waiting would not help,
// Record::not_fetched has the reason. What was not handed on is not part of any position: it is read again by
// the next run. `inner` outlives the result.
absl::StatusOr<std::unique_ptr<FetchSource>> make_fetch_source(Source& inner, const FetchOptions& options);
// The same over roots of the caller. `cancel` is set when the source goes away.
std::unique_ptr<FetchSource> make_fetch_source(Source& inner, const FetchOptions& options,
                                               std::vector<std::unique_ptr<WarcRoot>> roots,
                                               std::shared_ptr<std::atomic<bool>> cancel);

}  // namespace doppel
