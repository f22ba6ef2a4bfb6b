// The directory of a WACZ file: whatever it says, each WARC file must be a byte range that does not overlap
// another, under a name that does not lead out of the archive.

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "files/byte_stream.h"
#include "files/warc/wacz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const doppel::Fd fd(::memfd_create("wacz", MFD_CLOEXEC));
  struct stat info = {};
  if (!fd.ok() || ::write(fd.get(), data, size) != static_cast<ssize_t>(size)) std::abort();
  if (::fstat(fd.get(), &info) != 0) std::abort();
  for (const char* name : {"x.wacz", "x.zip", "x"}) {
    const auto inside = doppel::look_into_wacz(fd.get(), name, info);
    if (!inside.ok()) continue;
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (const doppel::InputFile& file : inside->files) {
      const uint64_t begin = file.part.begin, end = begin + file.part.size;
      if (end < begin || end > size || file.part.size == 0 || file.size != file.part.size) std::abort();
      for (const auto& [other, other_end] : taken) {
        if (begin < other_end && other < end) std::abort();
      }
      taken.emplace_back(begin, end);
      if (!file.member.starts_with("archive/") || file.member.find("/../") != std::string::npos) std::abort();
    }
  }
  return 0;
}
