// Whatever the bytes, and in whatever pieces they come, the splitter must find the same values. Every byte
// outside of values must be white space, a UTF-8 mark, or a bracket or comma of an array.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "files/read/value_reader.h"

namespace {

std::vector<std::pair<size_t, size_t>> split(std::string_view text, size_t piece) {
  std::vector<std::pair<size_t, size_t>> out;
  doppel::JsonSplitter splitter;
  size_t at = 0, begin = 0, behind = 0;
  for (size_t end = 0; end < text.size();) {
    end = piece < text.size() - end ? end + piece : text.size();
    for (;;) {
      const auto found = splitter.next(text.substr(0, end), at);
      if (at > end) std::abort();
      if (found == doppel::JsonSplitter::Found::nothing) break;
      if (found == doppel::JsonSplitter::Found::begin) {
        begin = at;
        for (const char c : text.substr(behind, begin - behind)) {
          if (std::string_view(" \n\t\r[],\xef\xbb\xbf").find(c) == std::string_view::npos) std::abort();
        }
      } else {
        if (at <= begin) std::abort();
        behind = at;
        out.emplace_back(begin, at);
      }
    }
    if (at != end) std::abort();
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = split(text, size + 1);
  for (const size_t piece : {1, 2, 7}) {
    if (split(text, piece) != whole) std::abort();
  }
  return 0;
}
