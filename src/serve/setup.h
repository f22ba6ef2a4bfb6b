#pragma once
// From settings to the parts that they describe; shared by all commands that judge documents.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "http/server.h"
#include "stream/pipeline.h"
#include "stream/warc/fetch_source.h"
#include "text/hash_key.h"

namespace doppel {

// The server of http.listen, with nothing routed yet; null if that is empty.
absl::StatusOr<std::unique_ptr<http::Server>> open_http(const Options& options);

// The configured key (DOPPEL_HASH_KEY, hash_key_file). Without one: that of the state directory, made if it
// has none, and `note` says so; without a state directory a fixed, public one, so that runs can be repeated.
absl::StatusOr<HashKey> choose_hash_key(const Options& options, std::string& note);

// The same for commands that only read: creates no key if there is none.
absl::StatusOr<HashKey> hash_key_to_look_with(Options options);

absl::StatusOr<EngineOptions> engine_options(const Options& options, const HashKey& key);

// An index keeps the bands that it was made with: where they are chosen, they are those of `stored`, the
// description of its rule (empty: it is new). Says so.
void keep_banding(Rule& rule, std::string_view stored);

// The format that signed records had before, as the first of these files says; nothing where it cannot be
// seen. kept: for an index that is kept.
absl::Status learn_signed_format(const std::vector<std::string>& paths, bool kept, FormatOptions& input);

// How records that point into WARC files are fetched; `stop` ends waiting.
FetchOptions fetch_options(const Options& options, std::function<bool()> stop);
// The source whose records are fetched, if they are to be: in place of `inner`, which outlives it, as the
// engine does. What the engine knows by its payload is not read.
absl::StatusOr<std::unique_ptr<FetchSource>> fetch_from(Source& inner, FetchOptions options,
                                                        const Engine& engine);
// Pipeline::read_now of it; empty for nullptr.
std::function<absl::Status(Record&, std::vector<std::shared_ptr<const void>>&)> late_reader(
    FetchSource* fetching);

// 0 becomes the number of processors.
int thread_count(const Options& options);

}  // namespace doppel
