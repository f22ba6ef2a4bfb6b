#pragma once
// Fetching as the settings describe it: which roots, how much at a time, and what need not be fetched.

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "fetch/fetch_source.h"

namespace doppel {

// How records that point into WARC files are fetched; `stop` ends waiting.
FetchOptions fetch_options(const Options& options, std::function<bool()> stop);
// The source whose records are fetched, if they are to be: in place of `inner`, which outlives it, as the
// engine does. What the engine knows by its payload is not read.
absl::StatusOr<std::unique_ptr<FetchSource>> fetch_from(Source& inner, FetchOptions options,
                                                        const Engine& engine);
// Pipeline::read_now of it; empty for nullptr.
std::function<absl::Status(Record&, std::vector<std::shared_ptr<const void>>&)> late_reader(
    FetchSource* fetching);

}  // namespace doppel
