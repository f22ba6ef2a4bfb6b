// Records of every preset: whatever the bytes, the decoder must decode or reject them, twice with the same
// result; decoded text must be UTF-8. The first byte chooses the preset, the second whether there is a key
// and which extraction runs.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "formats/decoder.h"

namespace {

std::string decode(doppel::Decoder& decoder, std::string_view value, bool with_key, bool text) {
  std::unique_ptr<char[]> memory(new char[value.size() + doppel::kRecordPadding]());
  std::copy(value.begin(), value.end(), memory.get());
  doppel::Record record;
  record.value = {memory.get(), value.size()};
  if (with_key) record.key = record.value.substr(0, value.size() / 2);
  doppel::Document document;
  absl::Status status = decoder.decode(record, document);
  if (!status.ok()) return status.ToString();
  if (!text && document.skip == doppel::Reason::none && !doppel::utf8::valid(document.text)) std::abort();
  return std::string(document.text) + '\n' + std::string(document.id) + '\n' + std::string(document.url) +
         '\n' + std::string(document.tags) + '\n' + std::string(document.passthrough) + '\n' +
         (document.skip == doppel::Reason::none ? std::string() : doppel::message_of(document.skip));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const kPresets[] = {"json",  "text",        "html",     "scrapy-cluster", "ache",
                                         "nutch", "news-please", "heritrix", "pages-jsonl",    "warc"};
  static constexpr doppel::ExtractPart kExtract[] = {doppel::ExtractPart::format, doppel::ExtractPart::none,
                                                     doppel::ExtractPart::visible, doppel::ExtractPart::main};
  static const std::vector<std::unique_ptr<doppel::Decoder>> decoders = [] {
    std::vector<std::unique_ptr<doppel::Decoder>> all;
    for (const char* preset : kPresets) {
      for (const doppel::ExtractPart extract : kExtract) {
        doppel::FormatOptions options;
        options.format = preset;
        options.extract = extract;
        options.scope_fields = {"/collection_id", "$topic"};
        options.tag_fields = {"crawl=/crawl_name"};
        options.passthrough_fields = {"seed"};
        options.statuses = {"any"};
        options.content_types = {"any"};
        all.push_back(doppel::make_decoder(options));
      }
    }
    return all;
  }();
  if (size < 2) return 0;
  const size_t preset = data[0] % 10;
  doppel::Decoder& decoder = *decoders[preset * 4 + data[1] % 4];
  const bool key = (data[1] & 0x80) != 0;
  std::string_view value(reinterpret_cast<const char*>(data + 2), size - 2);
  if (decode(decoder, value, key, preset == 1) != decode(decoder, value, key, preset == 1)) std::abort();
  return 0;
}
