// A message of an mbox file, from a stranger: decoding ends, and gives a text in UTF-8 or an error.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "formats/bytes/charset.h"
#include "formats/decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto decoder = doppel::make_decoder({});
  std::string memory(reinterpret_cast<const char*>(data), size);
  memory.append(doppel::kRecordPadding, '\0');
  doppel::Record record;
  record.mail = true;
  record.value = std::string_view(memory).substr(0, size);
  doppel::Document document;
  if (!decoder->decode(record, document).ok()) return 0;
  if (!doppel::is_utf8(document.text) || !doppel::is_utf8(document.id)) std::abort();
  return 0;
}
