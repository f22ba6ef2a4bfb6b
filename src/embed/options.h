#pragma once
// Turns the options of an embedded index, and the settings that the index in its directory was made with,
// into engine options.

#include <string_view>

#include "absl/status/statusor.h"
#include "doppel/index.h"
#include "engine/engine.h"

namespace doppel {

// `stored` is data scheme and rule of the index ("name=value" lines); empty if it is new. InvalidArgument
// names an impossible option. FailedPrecondition names the options that differ from the index, with both
// values.
absl::StatusOr<EngineOptions> embed_options(const Index::Options& given, std::string_view stored,
                                            const HashKey& key);

}  // namespace doppel
