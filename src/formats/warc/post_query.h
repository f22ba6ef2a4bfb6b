#pragma once
// The keys under which indexes of archives hold the answers to POST and PUT requests: what was sent becomes a
// part of the URL, as the packages cdxj-indexer (-p) and pywb make it.

#include <optional>
#include <string>
#include <string_view>

#include "formats/warc/warc.h"

namespace doppel {

struct PostQuery {
  std::string method;
  std::string query;  // at most 4,096 characters; empty if the body says nothing

  // The URL with the method and the query appended; surt() makes the key of it.
  std::string url(std::string_view target_uri) const;
};

// Nullopt if the record is no HTTP request with a method that sends something. Forms, JSON, multipart and
// other bodies are read; AMF is treated like any other binary body.
std::optional<PostQuery> post_query_of(const WarcRecord& request);

}  // namespace doppel
