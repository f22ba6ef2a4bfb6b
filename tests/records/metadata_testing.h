#pragma once
// Metadata of documents for tests.

#include <string>
#include <string_view>

#include "records/metadata.h"

namespace doppel::records_test {

inline Metadata in_file(uint64_t offset, std::string_view id) {
  return {.source = "a.jsonl", .offset = offset, .id = id, .url = {}};
}

inline std::string encoded(const Metadata& metadata) {
  std::string out;
  encode_metadata(metadata, out);
  return out;
}

}  // namespace doppel::records_test
