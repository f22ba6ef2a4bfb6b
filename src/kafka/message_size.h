#pragma once
// Which messages fit into an output topic. Topics limit a message together with the batch around it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "formats/record.h"

namespace doppel::kafka {

inline constexpr size_t kMessageOverhead = 512;  // bytes of a record and its batch besides our payload

struct OutputTopic {
  std::string name;                       // empty: none
  int64_t message_bytes_max = 1'000'000;  // of the topic
  bool compressed = false;                // the limit counts compressed bytes
};

size_t headers_size(std::span<const Header> headers);
size_t bytes_of(const Record& record);  // value, key and headers

bool fits(const OutputTopic& topic, size_t bytes);
// Whether the whole record and `more` bytes fit. A record that came compressed may fit only if it is
// compressed again, so this measures it that way.
bool fits_compressed(const OutputTopic& topic, const Record& record, size_t more);

}  // namespace doppel::kafka
