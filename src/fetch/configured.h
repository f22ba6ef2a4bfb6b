#pragma once
// Sets up fetching by the settings: the roots, the limits, and which records need not be fetched.

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "fetch/fetch_source.h"

namespace doppel {

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
