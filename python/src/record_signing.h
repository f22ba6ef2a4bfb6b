#pragma once
// SIGN alone: documents that a program holds, as signed records. Knows nothing of Python.

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

// What signing and comparing texts needs to know.
struct SigningSettings {
  Options options;
  EngineOptions engine;
};
// `hash_key`: 32 hex digits; empty: as for doppel scan.
absl::StatusOr<SigningSettings> signing_settings(const std::vector<std::pair<std::string, std::string>>& sets,
                                                 const std::string& hash_key);

// The records of documents, in their order. They carry what MemoryIndex::add() would make of the documents.
// `times_ms` may be empty. Asked now and then, `go_on` ends the work by false.
absl::Status sign_documents(const SigningSettings& settings, const std::vector<std::string_view>& texts,
                            const std::vector<std::string_view>& ids, const std::vector<int64_t>& times_ms,
                            const std::function<bool(uint64_t done)>& go_on, TextBuffer& out);

// What a signed record says of its document.
struct SignedName {
  std::string id;
  Digest digest;
  std::string metadata;
};
// Of signed records. InvalidArgument names the row that is none, or is of another scheme or hash key.
absl::StatusOr<std::vector<SignedName>> names_of_records(const EngineOptions& engine,
                                                         const std::vector<std::string_view>& records);

}  // namespace doppel::python
