#include "files/read/skip.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/status.h"

namespace doppel {

size_t begin_file(Filling& filling) {
  const size_t at = filling.make_room(filling.end(), 1);
  filling.data()[at] = '\n';
  filling.appended(1);
  return at + 1;
}

bool skip_to(uint64_t offset, int fd, const InputFile& file, ByteStream& stream, Batch& batch) {
  const auto lost = [&](uint64_t at, const std::string& cause) {
    batch.problems.push_back(make_problem(file.path, 0, at, cause));
    return false;
  };
  if (offset == 0) return true;
  if (file.packing == Packing::none)
    return ::lseek(fd, static_cast<off_t>(offset), SEEK_SET) >= 0 || lost(offset, system_cause());
  const std::unique_ptr<char[]> scratch(new char[kSmallRead]);
  for (uint64_t left = offset; left > 0;) {
    const absl::StatusOr<size_t> got = stream.read(scratch.get(), std::min<uint64_t>(left, kSmallRead));
    if (!got.ok()) return lost(offset - left, std::string(std_sv(got.status().message())));
    if (*got == 0) return lost(offset - left, "the data ends before the place that was reached earlier");
    left -= *got;
  }
  return true;
}

}  // namespace doppel
