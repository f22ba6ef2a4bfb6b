#pragma once
// From settings to the parts that they describe; shared by all commands that judge documents.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "text/hash_key.h"

namespace doppel {

// The configured key (DOPPEL_HASH_KEY, hash_key_file). Without one: that of the state directory, made if it
// has none, and `note` says so; without a state directory a fixed, public one, so that runs can be repeated.
// In place of both that of the first index of `against`.
absl::StatusOr<HashKey> choose_hash_key(const Options& options, std::string& note);

// The same for commands that only read: creates no key if there is none.
absl::StatusOr<HashKey> hash_key_to_look_with(Options options);

absl::StatusOr<EngineOptions> engine_options(const Options& options, const HashKey& key);

// An index keeps the bands that it was made with: where they are chosen, they are those of `stored`, the
// description of its rule (empty: it is new). Says so.
void keep_banding(Rule& rule, std::string_view stored);

// The format that signed records had before, as the first of these files says; nothing where it cannot be
// seen.
absl::Status learn_signed_format(const std::vector<std::string>& paths, FormatOptions& input);

// 0 becomes the number of processors.
int thread_count(const Options& options);

}  // namespace doppel
