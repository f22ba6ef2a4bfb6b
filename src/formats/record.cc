#include "formats/record.h"

#include <fmt/format.h>

namespace doppel {

std::string place_in_words(const Record& record) {
  if (record.row) return fmt::format("{}: row {}", record.source, record.offset);
  if (record.line == 0) return std::string(record.source);
  return fmt::format("{}:{} (byte {})", record.source, record.line, record.offset);
}

}  // namespace doppel
