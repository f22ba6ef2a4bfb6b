#include "files/read/buffered_reader.h"

#include <algorithm>
#include <utility>

#include "files/read/skip.h"

namespace doppel {
BufferedReader::BufferedReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file,
                               Fd fd, ByteCounter counter, LineMark mark)
    : options_(options),
      filling_(filling),
      file_(file),
      fd_(fd.get()),
      stream_(make_byte_stream(std::move(fd), file.packing, std::move(counter), file.head)),
      pipe_(options, fd_),
      mark_(std::move(mark)),
      head_left_(!file.head.empty()) {
  mark_.path = file.path;
  mark_.disk_length = 0;
}

void BufferedReader::start(Batch& batch) {
  started_ = true;
  begin_ = begin_file(filling_);
  if (!skip_to(mark_.offset, fd_, file_, *stream_, batch)) damaged_ = ended_ = true;
}

absl::StatusOr<size_t> BufferedReader::read_more(size_t wanted) {
  begin_ =
      filling_.make_room(begin_, std::max({wanted, std::min(kSmallRead, filling_.usual() / 4), size_t{1}}));
  absl::StatusOr<size_t> got = stream_->read(filling_.data() + filling_.end(), filling_.room());
  head_left_ = false;
  if (got.ok()) filling_.appended(*got);
  return got;
}

bool BufferedReader::worth_waiting(const Batch& batch) {
  // poll() does not see bytes that were already read.
  if (head_left_ || file_.packing != Packing::none) return true;
  const PipeWait::Answer answer = pipe_.ask(batch.records.empty());
  if (answer == PipeWait::Answer::stopped) damaged_ = ended_ = true;
  return answer != PipeWait::Answer::deliver;
}

}  // namespace doppel
