// A file of any kind from a stranger: recognises it by its first bytes, then runs its reader. The seeds in
// corpus/files begin like each format that doppel reads. Reading must end, and records must come in the order
// of their places.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "files/byte_stream.h"
#include "files/read/files_source.h"

namespace {

constexpr int kMostBatches = 100;  // a run of one value may have billions

using doppel::Layout;

void read_all(const std::string& path, Layout layout) {
  const doppel::FilesSourceOptions options{.paths = {path},
                                           .layout = layout,
                                           .columns = doppel::FormatOptions(),
                                           .batch_records = 100,
                                           .batch_bytes = 64 << 10,
                                           .max_line_bytes = 256 << 10,
                                           .max_whole_bytes = 64 << 10};
  const auto source = doppel::open_files_source(options, {});
  if (!source.ok()) return;
  doppel::Batch batch;
  for (int i = 0; i < kMostBatches; ++i) {
    const auto more = (*source)->next(batch);
    if (!more.ok() || !*more) return;
    if (batch.records.empty() && batch.problems.empty()) std::abort();
    for (size_t record = 1; record < batch.records.size(); ++record) {
      if (batch.records[record].source == batch.records[record - 1].source &&
          batch.records[record].offset <= batch.records[record - 1].offset)
        std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const doppel::Fd fd(::memfd_create("file", MFD_CLOEXEC));
  if (!fd.ok() || ::write(fd.get(), data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  for (const Layout layout : {Layout::automatic, Layout::lines, Layout::whole, Layout::signed_records})
    read_all(path, layout);
  return 0;
}
