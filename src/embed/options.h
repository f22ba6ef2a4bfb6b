#pragma once
// From the options of an embedded index, and what the index in its directory was made with, to an engine.

#include <string_view>

#include "absl/status/statusor.h"
#include "doppel/index.h"
#include "engine/engine.h"

namespace doppel {

// `stored`: data scheme and rule of the index ("name=value" lines); empty: it is new. InvalidArgument names
// an option that is impossible, FailedPrecondition options that differ from the index, with both values.
absl::StatusOr<EngineOptions> embed_options(const Index::Options& given, std::string_view stored,
                                            const HashKey& key);

}  // namespace doppel
