#pragma once
// SIGN alone: turns documents of a program into signed records. Independent of Python.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "verdicts.h"

namespace doppel::python {

// All that signing and comparing texts depends on.
struct SigningSettings {
  Options options;
  EngineOptions engine;
};
// `hash_key`: 32 hex digits; empty: as in `doppel scan`.
absl::StatusOr<SigningSettings> signing_settings(const std::vector<std::pair<std::string, std::string>>& sets,
                                                 const std::string& hash_key);

// Appends the signed records of the documents, in order. MemoryIndex::add_signed() decides them as add()
// decides the documents. `times_ms` may be empty. `go_on` is called between batches; false ends the work.
absl::Status sign_documents(const SigningSettings& settings, const std::vector<std::string_view>& texts,
                            const std::vector<std::string_view>& ids, const std::vector<int64_t>& times_ms,
                            const std::function<bool(uint64_t done)>& go_on, TextBuffer& out);

// The document of a signed record.
struct SignedName {
  std::string id;
  Digest digest;
  std::string metadata;
};
// The documents of signed records. InvalidArgument names the row of an invalid record, or of one with
// another scheme or hash key.
absl::StatusOr<std::vector<SignedName>> names_of_records(const EngineOptions& engine,
                                                         const std::vector<std::string_view>& records);

}  // namespace doppel::python
