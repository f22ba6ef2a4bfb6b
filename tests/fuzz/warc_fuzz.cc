// The head of a WARC record, and a record that is assembled from pieces of a compressed file: fed as a whole
// and byte by byte, with the same result.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "fetch/warc_root.h"
#include "formats/warc/warc.h"

namespace {

std::string assembled(std::string_view bytes, size_t step) {
  doppel::RecordAssembler assembler(4096);
  for (size_t at = 0; at < bytes.size(); at += step) {
    auto complete = assembler.feed(bytes.substr(at, step));
    if (!complete.ok()) return "damaged";
    if (*complete) return assembler.take();
  }
  return assembler.end().ok() ? assembler.take() : "damaged";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto record = doppel::parse_warc_record(bytes); record.ok()) {
    if (record->head_bytes + record->block.size() > size) std::abort();
  }
  const std::string whole = assembled(bytes, size + 1);
  if (whole != "damaged" && whole != assembled(bytes, 1)) std::abort();
  return 0;
}
