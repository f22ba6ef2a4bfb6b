#include "files/warc/each_record.h"

#include <fcntl.h>

#include <atomic>
#include <memory>
#include <utility>

#include "base/status.h"
#include "files/fd.h"
#include "files/options.h"
#include "files/warc/warc_reader.h"
#include "pipeline/buffers.h"

namespace doppel {

absl::Status each_warc_record(const InputFile& file, const std::function<void(const Record&)>& visit,
                              std::vector<std::string>& problems) {
  Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return io_error(file.path);
  FilesSourceOptions options;
  options.max_whole_bytes = 256 << 10;  // enough for the heads
  Filling filling(options.buffer_bytes);
  WarcReader reader(options, filling, file, std::move(fd), std::make_shared<std::atomic<uint64_t>>(0), {});
  for (Batch batch;;) {
    const RecordReader::State state = reader.take(batch);
    filling.seal();
    for (const Record& record : batch.records) visit(record);
    for (const Problem& problem : batch.problems) problems.push_back(problem.message);
    if (state == RecordReader::State::ended) return absl::OkStatus();
    batch = {};
  }
}

}  // namespace doppel
