// Whatever the bytes, a record must be decoded or rejected. The bytes after it must not matter, and decoding
// twice must give the same result.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "formats/decoder.h"

namespace {

struct Result {
  bool ok = false;
  std::string id, text, url, scope;
  std::optional<int64_t> timestamp_ms;
  std::string reason;
  bool operator==(const Result&) const = default;
};

Result decode(doppel::Decoder& decoder, std::string_view json, std::string_view behind) {
  // Memory of exactly the promised size, so that the sanitizer notices a byte too far.
  size_t size = json.size() + doppel::kRecordPadding;
  std::unique_ptr<char[]> memory(new char[size]);
  for (size_t i = 0; i < size; ++i)
    memory[i] = i < json.size() ? json[i] : behind[(i - json.size()) % behind.size()];
  doppel::Record record;
  record.value = {memory.get(), json.size()};
  doppel::Document document;
  absl::Status status = decoder.decode(record, document);
  Result result;
  result.ok = status.ok();
  if (!result.ok) {
    result.reason = status.ToString();
    return result;
  }
  result.id = document.id;
  result.text = document.text;
  result.url = document.url;
  result.scope = document.scope;
  result.timestamp_ms = document.timestamp_ms;
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<doppel::Decoder> decoder = [] {
    doppel::FormatOptions options;
    options.format = "json";
    options.id_fields = {"id", "/meta/id"};
    options.text_fields = {"text", "/page/parts/0/text", "body"};
    options.scope_fields = {"lang", "/meta/site"};
    return doppel::make_decoder(options);
  }();
  std::string_view json(reinterpret_cast<const char*>(data), size);
  Result once = decode(*decoder, json, std::string_view("\0", 1));
  Result again = decode(*decoder, json, "\"}]e,1:");
  if (once != again) std::abort();
  if (once.timestamp_ms && doppel::parse_time(doppel::format_time(*once.timestamp_ms)) != once.timestamp_ms)
    std::abort();
  // Times must be read or refused, too.
  (void)doppel::parse_time(json);
  return 0;
}
