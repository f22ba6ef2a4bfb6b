#pragma once
// Lines of CDXJ files, the sorted indexes of web archives: "com,example)/page 20240506070809 {...}", where
// the object names the WARC file of the capture; and of CDX files, which have columns in its place.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace doppel {

struct CdxjLine {
  std::string_view key;  // of the URL: surt()
  int64_t time_ms = 0;
  std::string url;
  std::string filename;
  uint64_t offset = 0;
};

// Nullopt: a header line, or one without a place.
std::optional<CdxjLine> parse_cdxj_line(std::string_view line);

}  // namespace doppel
