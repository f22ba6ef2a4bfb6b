#pragma once
// Sets up the stages that complete records as the settings say: with their schemas, and with the records that
// they point to.

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "fetch/fetch_source.h"
#include "fetch/schema_source.h"

namespace doppel {

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
