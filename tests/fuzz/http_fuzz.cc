// HTTP heads, chunks and content encodings as archives store them: nothing may grow beyond its limit.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "formats/bytes/http.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMax = 1 << 20;
  std::string_view message(reinterpret_cast<const char*>(data), size);
  auto http = doppel::parse_http_response(message);
  if (!http.ok()) return 0;
  std::string chunks;
  std::string memory;
  std::string_view body = http->body;
  if (doppel::decode_chunked(body, chunks)) {
    if (chunks.size() > body.size()) std::abort();
    body = chunks;
  }
  auto content = doppel::decode_content(body, http->content_encoding, kMax, memory);
  if (content.ok() && content->size() > std::max(kMax, body.size())) std::abort();
  return 0;
}
