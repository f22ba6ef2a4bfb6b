#pragma once
// Lines of the sorted indexes of web archives. CDXJ: "com,example)/page 20240506070809 {...}", where the
// object names the capture's WARC file. CDX: columns instead of the object.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace doppel
