#pragma once
// FETCH: replaces records that only point into WARC files by the records that they point to. The order and
// everything else about the source stay the same.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "fetch/fetch_pool.h"
#include "fetch/schema_source.h"
#include "fetch/warc_root.h"
#include "formats/decoder.h"
#include "pipeline/stream.h"

namespace doppel {

struct FetchOptions {
  std::vector<std::string> roots;  // in the order in which they are tried
  std::vector<std::string> cdxj;   // files and directories of CDXJ files that locate captures
  int parallel = 16;               // reads in parallel
  int64_t max_wait_ms = 600'000;   // how long to wait for a root that does not answer
  // Limit for records that were read and are not handed on yet. It does not apply to batches with a
  // position, which are only handed on whole.
  uint64_t max_bytes = 64 << 20;
  WarcRootOptions root;
  FormatOptions format;
  // Whether the index has an original with the same payload now: then the record is not fetched
  // (Record::payload_known). Called on next()'s thread. May be empty.
  std::function<bool(const Document&)> knows_payload;
  // read_now() calls it while a root is unavailable; true ends the wait.
  std::function<bool()> stop = [] { return false; };
  // Why an earlier run found the record missing (Record::known_missing); empty: it is fetched.
  std::function<std::string(const Record&)> known_missing;
};

// Whether records of this format point into WARC files, and there are roots to find these in.
bool fetches(const FetchOptions& options);

class FetchSource : public Source {
 public:
  // Fetches a record that was left out because its payload was known, if that is no longer so. `memory`
  // keeps the bytes. Blocks. Call it from one thread, which may differ from next()'s.
  virtual absl::Status read_now(Record& record, std::vector<std::shared_ptr<const void>>& memory) = 0;
  virtual FetchCounts counts() const = 0;  // thread-safe
};

// next() returns after at most 0.1 s with the records that are ready, like a live source. A record that is
// not fetched yet holds back those behind it, up to max_wait. After that, or at once if waiting cannot
// help, Record::not_fetched has the reason. Records that were not handed on are in no position, so the next
// run reads them again. `inner` must outlive the result.
absl::StatusOr<std::unique_ptr<FetchSource>> make_fetch_source(Source& inner, const FetchOptions& options);
// As above, with the caller's roots. The destructor sets `cancel`.
std::unique_ptr<FetchSource> make_fetch_source(Source& inner, const FetchOptions& options,
                                               std::vector<std::unique_ptr<WarcRoot>> roots,
                                               std::shared_ptr<std::atomic<bool>> cancel);

// Sets up the stages that complete records as the settings say: with their schemas, and with the records that
// they point to.

// The configured registry.
RegistryOptions registry_options(const Options& options);
// A source that gives the records of `inner` their schemas, or nullptr if they need none. `inner` must
// outlive it.
std::unique_ptr<SchemaSource> schemas_from(Source& inner, const Options& options);
// Returns the outer source, or `inner` if there is no outer one.
inline Source& outer_of(Source& inner, Source* outer) { return outer != nullptr ? *outer : inner; }

// How to fetch the records that others point to. `stop` ends waiting.
FetchOptions fetch_options(const Options& options, std::function<bool()> stop);
// A source that fetches the records of `inner`, or nullptr if there is nothing to fetch. `inner` and
// `engine` must outlive it. Records whose payload the engine knows are not fetched.
absl::StatusOr<std::unique_ptr<FetchSource>> fetch_from(Source& inner, FetchOptions options,
                                                        const Engine& engine);
// For Pipeline::read_now; empty if `fetching` is nullptr.
std::function<absl::Status(Record&, std::vector<std::shared_ptr<const void>>&)> late_reader(
    FetchSource* fetching);

}  // namespace doppel
