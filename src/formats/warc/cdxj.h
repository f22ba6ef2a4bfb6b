#pragma once
// Lines of the sorted indexes of web archives, and the keys of answers to POST requests in them. CDXJ:
// "com,example)/page 20240506070809 {...}", where the object names the capture's WARC file. CDX: columns
// instead of the object.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/warc/warc.h"

namespace doppel {

struct CdxjLine {
  std::string_view key;  // of the URL, see surt()
  int64_t time_ms = 0;
  std::string url;
  std::string filename;
  uint64_t offset = 0;
};

// Returns nullopt for a header line, and for a line without a position.
std::optional<CdxjLine> parse_cdxj_line(std::string_view line);

// The keys under which indexes of archives hold the answers to POST and PUT requests: what was sent becomes a
// part of the URL, as the packages cdxj-indexer (-p) and pywb make it.
struct PostQuery {
  std::string method;
  std::string query;  // at most 4,096 characters; empty if the body says nothing

  // The URL with the method and the query appended; surt() makes the key of it.
  std::string url(std::string_view target_uri) const;
};

// Nullopt if the record is no HTTP request with a method that sends something. Forms, JSON, multipart and
// other bodies are read; AMF is treated like any other binary body.
std::optional<PostQuery> post_query_of(const WarcRecord& request);

// The members of a JSON object without those of the given names, each as `"name":value`, in their order;
// empty if it is no object.
std::vector<std::string> members_without(std::string_view json, const std::vector<std::string_view>& names);

// The time of a capture's line: "2024-05-06T07:08:09.123Z" -> "20240506070809". WARC 1.1 allows less
// precision: "2024-05" -> "20240501000000", the beginning of that time. "" if it is no date.
std::string cdxj_time(std::string_view date);

// The keys under which indexes of web archives file URLs, as their tools compute them (SURT, in the canonical
// form of the Internet Archive): "http://www.Example.com:80/A/../b/?z=1&a=2#top" -> "com,example)/b?a=2&z=1".
// Returns the URL unchanged if it has no key (for example, because its port is not a number), as the tools
// do.
std::string surt(std::string_view url);

}  // namespace doppel
