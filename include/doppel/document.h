#pragma once
// A document as the detector sees it: views into the caller's memory, valid for the call.

#include <cstdint>
#include <optional>
#include <string_view>

namespace doppel {

struct Document {
  std::string_view id;                  // the caller's name for it
  std::string_view text;                // UTF-8; what is not becomes a separator
  std::string_view url;                 // optional
  std::string_view scope;               // documents of different scopes never meet; empty: one scope for all
  std::optional<int64_t> timestamp_ms;  // record time, drives expiry
};

}  // namespace doppel
