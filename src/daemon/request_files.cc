// The functions of the process that leaves a request.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "base/status.h"
#include "daemon/forget_requests.h"
#include "state/file.h"

namespace doppel {
namespace {

std::string folder_of(const std::string& state_directory) { return join(state_directory, "requests"); }

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Gives the open file to the owner of the state directory, if we are root. Other users own what they create.
absl::Status give(int fd, const std::string& path, const struct stat& owner) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return io_error(fmt::format("{}: fstat", path));
  if (::geteuid() != 0 || (info.st_uid == owner.st_uid && info.st_gid == owner.st_gid))
    return absl::OkStatus();
  if (::fchown(fd, owner.st_uid, owner.st_gid) == 0) return absl::OkStatus();
  return io_error(
      fmt::format("{}: cannot be given to the owner of the state directory (user {}), so the daemon "
                  "could not remove it; run this as that user",
                  path, owner.st_uid));
}

absl::Status write_request(const File& folder, const std::string& file, const std::string& line,
                           const struct stat& owner) {
  const std::string temporary = file + ".tmp";
  const std::string path = join(folder.path(), temporary);
  const File out(
      ::openat(folder.fd(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
      path);
  if (out.fd() < 0) return io_error(fmt::format("{}: cannot be created", path));
  absl::Status status = give(out.fd(), path, owner);
  if (status.ok()) status = out.write_at(0, line + "\n");
  if (status.ok()) status = out.sync();
  if (status.ok() && ::renameat(folder.fd(), temporary.c_str(), folder.fd(), file.c_str()) != 0)
    status = io_error(fmt::format("{}: cannot be renamed", path));
  if (!status.ok()) ::unlinkat(folder.fd(), temporary.c_str(), 0);
  return status;
}

}  // namespace

absl::StatusOr<std::string> leave_request(const std::string& state_directory, const std::string& line) {
  RETURN_IF_ERROR(OriginalsWanted::parse(line).status());
  return leave_line(state_directory, line, ".request");
}

// Follows no symbolic link: the folder belongs to the daemon's user, who must not make root write elsewhere.
absl::StatusOr<std::string> leave_line(const std::string& state_directory, const std::string& line,
                                       std::string_view ending) {
  if (line.find('\n') != std::string::npos)
    return invalid("a request is one line; this one contains a line end");
  struct stat owner{};
  if (::stat(state_directory.c_str(), &owner) != 0) return io_error(fmt::format("{}: stat", state_directory));
  const std::string path = folder_of(state_directory);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return io_error(fmt::format("{}: cannot create the directory", path));
  ASSIGN_OR_RETURN(const File folder, File::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  RETURN_IF_ERROR(give(folder.fd(), path, owner));
  std::string name =
      fmt::format("{}-{}", std::chrono::system_clock::now().time_since_epoch().count(), ::getpid());
  RETURN_IF_ERROR(write_request(folder, std::string(name).append(ending), line, owner));
  RETURN_IF_ERROR(sync_directory(path));
  RETURN_IF_ERROR(sync_directory(state_directory));
  return name;
}

std::optional<uint64_t> take_answer(const std::string& state_directory, const std::string& name) {
  const std::string path = join(folder_of(state_directory), name + ".done");
  uint64_t found = 0;
  if (!(std::ifstream(path) >> found)) return std::nullopt;
  ::unlink(path.c_str());
  return found;
}

std::string RequestProgress::line() const {
  return fmt::format("{} {} {} {} {} {}", stage, done, of, below, found, work);
}

std::optional<RequestProgress> RequestProgress::parse(const std::string& line) {
  RequestProgress out;
  std::istringstream in(line);
  if (!(in >> out.stage >> out.done >> out.of >> out.below >> out.found >> out.work)) return std::nullopt;
  return out;
}

std::optional<RequestProgress> request_progress(const std::string& state_directory, const std::string& name) {
  return RequestProgress::parse(first_line(join(folder_of(state_directory), name + ".progress")));
}

}  // namespace doppel
