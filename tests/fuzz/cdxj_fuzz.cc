// Lines of CDXJ files, keys of URLs, and the search in a file that may not be sorted: it must end, and find
// only matching lines.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "fetch/cdxj_index.h"
#include "formats/warc/cdxj.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view first = bytes.substr(0, bytes.find('\n'));
  if (auto line = doppel::parse_cdxj_line(first); line && line->filename.empty()) std::abort();
  // Unless the URL has no key, the key must contain only printable characters, so that all tools keep it.
  if (const std::string key = doppel::surt(first); key != first) {
    for (const char c : key)
      if (c <= ' ' || c > '~') std::abort();
  }
  const doppel::ReadAt read = [&](uint64_t offset, size_t wanted) -> absl::StatusOr<std::string> {
    if (offset >= size) return std::string();
    return std::string(bytes.substr(offset, wanted));
  };
  const std::string prefix(first.substr(0, first.find(' ')));
  size_t lines = 0;
  const absl::Status status = doppel::visit_sorted_lines(read, size, prefix, [&](std::string_view line) {
    if (!line.starts_with(prefix) || ++lines > size + 1) std::abort();
    return true;
  });
  if (!status.ok()) std::abort();
  return 0;
}
