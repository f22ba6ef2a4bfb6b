#pragma once
// Lines of CDXJ files, the sorted indexes of web archives: "com,example)/page 20240506070809 {...}", where
// the object names the WARC file of the capture.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppel {

struct CdxjLine {
  std::string_view key;  // of the URL, as below
  int64_t time_ms = 0;
  std::string url;
  std::string filename;
  uint64_t offset = 0;
};

// Nullopt: a header line, or one without a place.
std::optional<CdxjLine> parse_cdxj_line(std::string_view line);

// The keys under which tools may have filed this URL (host reversed, "www." dropped, all in lower case,
// arguments sorted), the likeliest first; none for what is no URL of a host.
std::vector<std::string> cdxj_keys(std::string_view url);

}  // namespace doppel
