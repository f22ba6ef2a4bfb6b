#pragma once
// Turns the options of an embedded index, and the settings that the index in its directory was made with,
// into engine options.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "doppel/index.h"
#include "engine/engine.h"

namespace doppel {

// `stored` is data scheme and rule of the index ("name=value" lines); empty if it is new. InvalidArgument
// names an impossible option. FailedPrecondition names the options that differ from the index, with both
// values.
absl::StatusOr<EngineOptions> embed_options(const Index::Options& given, std::string_view stored,
                                            const HashKey& key);

// InvalidArgument names an option that is out of its range. In src/embed/options.cc, as
// Index::Options::set(), which has the names and ranges.
absl::Status check_options(const Index::Options& given);

// Relations in the form of an index: "near,contained". InvalidArgument names one that is unknown.
absl::StatusOr<std::string> chosen_relations(const std::vector<std::string>& given);

}  // namespace doppel
