#pragma once
// ZIP archives like WACZ files: entries are stored or compressed.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packed.h"

namespace doppel {

struct ZipOptions {
  bool pack = false;       // compress the entries
  bool large = false;      // sizes and offsets in their 64-bit form
  bool encrypted = false;  // mark the entries as encrypted, without encrypting them
  bool shared = false;     // all entries have the first one's bytes
  std::string comment;
};

inline std::string zipped(const std::vector<std::pair<std::string, std::string>>& files,
                          const ZipOptions& options = {}) {
  std::string out, directory;
  uint64_t local = 0;
  const auto put = [](std::string& to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
  };
  for (const auto& [name, bytes] : files) {
    const std::string stored = options.pack ? deflated(bytes, -15) : bytes;
    if (!options.shared || out.empty()) local = out.size();
    const auto head = [&](std::string& to, bool is_local) {
      put(to, 20, 2);
      put(to, options.encrypted ? 1 : 0, 2);
      put(to, options.pack ? 8 : 0, 2);
      put(to, 0, 8);  // time, date, checksum
      const bool wide = options.large && !is_local;
      put(to, wide ? UINT32_MAX : stored.size(), 4);
      put(to, wide ? UINT32_MAX : bytes.size(), 4);
      put(to, name.size(), 2);
    };
    out += "PK\x03\x04";
    head(out, true);
    put(out, 5, 2);  // more than the directory says
    out += name + "extra" + stored;
    directory += std::string("PK\x01\x02") + "\x14" + '\0';
    head(directory, false);
    put(directory, options.large ? 28 : 0, 2);
    put(directory, 0, 10);  // comment, disk, attributes
    put(directory, options.large ? UINT32_MAX : local, 4);
    directory += name;
    if (!options.large) continue;
    put(directory, 1, 2);
    put(directory, 24, 2);
    for (const uint64_t value : {bytes.size(), stored.size(), local}) put(directory, value, 8);
  }
  const uint64_t begin = out.size();
  out += directory;
  if (options.large) {
    const uint64_t end64 = out.size();
    out += "PK\x06\x06";
    put(out, 44, 8);
    put(out, 0x002d'002d, 4);
    put(out, 0, 8);
    for (const uint64_t value : {files.size(), files.size(), directory.size(), begin}) put(out, value, 8);
    out += "PK\x06\x07";
    put(out, 0, 4);
    put(out, end64, 8);
    put(out, 1, 4);
  }
  out += "PK\x05\x06";
  put(out, 0, 4);
  for (int i = 0; i < 2; ++i) put(out, options.large ? UINT16_MAX : files.size(), 2);
  put(out, options.large ? UINT32_MAX : directory.size(), 4);
  put(out, options.large ? UINT32_MAX : begin, 4);
  put(out, options.comment.size(), 2);
  return out + options.comment;
}

}  // namespace doppel
