#include "files_pass.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/status.h"
#include "files/byte_stream.h"
#include "fmt/format.h"

namespace doppel::python {

absl::StatusOr<std::unique_ptr<FilesPass>> FilesPass::begin(const std::vector<std::string>& paths,
                                                            std::string_view position,
                                                            const FormatOptions& format, Seq first,
                                                            Seq first_own) {
  std::unique_ptr<FilesPass> pass(new FilesPass(first, first_own));
  FilesSourceOptions options{.paths = paths};
  options.columns = format;
  ASSIGN_OR_RETURN(const Position known, parse_position(position));
  ASSIGN_OR_RETURN(pass->listing_, list_files(options));
  if (pass->listing_.files.size() != paths.size())
    return invalid(fmt::format("{} of {} paths are files", pass->listing_.files.size(), paths.size()));
  pass->resume_ = find_resume_points(options, pass->listing_, known, pass->writer_, pass->problems_);
  return pass;
}

int64_t FilesPass::first_row(size_t file) const {
  if (resume_.skip[file]) return -1;
  const auto from = resume_.from.find(file);
  return from == resume_.from.end() ? 0 : static_cast<int64_t>(from->second.lines);
}

const LineMark* FilesPass::unfinished(size_t file) const {
  const auto from = resume_.from.find(file);
  return from == resume_.from.end() ? nullptr : &from->second;
}

absl::Status FilesPass::open(size_t file) {
  const std::string& path = listing_.files[file].path;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (!fd.ok() || ::fstat(fd.get(), &info) != 0)
    return absl::NotFoundError(fmt::format("{}: {}", path, system_cause()));
  const auto from = resume_.from.find(file);
  if (from != resume_.from.end()) {
    writer_.take_pending();
    if (!is_file_of(fd.get(), true, from->second))
      return absl::FailedPreconditionError(
          fmt::format("{}: the file was replaced while it was read; begin again", path));
  }
  mark_ = from != resume_.from.end() ? from->second : mark_of(fd.get());
  mark_.path = path;
  mark_.disk_length = 0;
  size_ = static_cast<uint64_t>(info.st_size);
  return absl::OkStatus();
}

std::string FilesPass::position(uint64_t rows) const {
  LineMark mark = mark_;
  mark.lines = rows;
  return writer_.encode(&mark);
}

void FilesPass::end() {
  mark_.offset = size_;
  mark_.disk_length = std::max<uint64_t>(size_, 1);
  writer_.add_done(mark_);
}

}  // namespace doppel::python
