// Reads any bytes as the answers of a matcher: reading must refuse them, or return answers that stay the same
// when they are written and read once more. Also reads them with a right checksum, because a wrong one would
// hide everything else.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "base/checksums.h"
#include "engine/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(sizeof(uint32_t), '\0');
  bytes.append(reinterpret_cast<const char*>(data), size);
  doppel::store(bytes.data(), doppel::crc32c(std::string_view(bytes).substr(sizeof(uint32_t))));
  doppel::AnswerRecord record, same;
  (void)doppel::decode_answers(std::string_view(bytes).substr(sizeof(uint32_t)), record);
  if (!doppel::decode_answers(bytes, record).ok()) return 0;
  (void)doppel::parse_shards(record.shards);
  std::string again;
  doppel::encode_answers(record, SIZE_MAX, again);
  if (!doppel::decode_answers(again, same).ok() || same.answers.size() != record.answers.size() ||
      same.generation != record.generation || same.end != record.end)
    std::abort();
  return 0;
}
