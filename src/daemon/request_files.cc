#include "daemon/request_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/requests.h"
#include "formats/decoder.h"
#include "state/file.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kRequestBytesMost = 64 << 10;
constexpr std::string_view kExpires = "expires ";

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

absl::Status write_request(const File& folder, const std::string& file, const std::string& text,
                           const struct stat& owner) {
  const std::string temporary = file + ".tmp";
  const std::string path = join(folder.path(), temporary);
  const File out(
      ::openat(folder.fd(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
      path);
  if (out.fd() < 0) return io_error(fmt::format("{}: cannot be created", path));
  absl::Status status = give(out.fd(), path, owner);
  if (status.ok()) status = out.write_at(0, text);
  if (status.ok()) status = out.sync();
  if (status.ok() && ::renameat(folder.fd(), temporary.c_str(), folder.fd(), file.c_str()) != 0)
    status = io_error(fmt::format("{}: cannot be renamed", path));
  if (!status.ok()) ::unlinkat(folder.fd(), temporary.c_str(), 0);
  return status;
}

}  // namespace

absl::StatusOr<std::string> leave_request(const std::string& state_directory, const std::string& line,
                                          int64_t expires_ms) {
  RETURN_IF_ERROR(OriginalsWanted::parse(line).status());
  return leave_line(state_directory, line, kForgetRequest, expires_ms);
}

// Follows no symbolic link: the folder belongs to the daemon's user, who must not make root write elsewhere.
absl::StatusOr<std::string> leave_line(const std::string& state_directory, const std::string& line,
                                       std::string_view ending, int64_t expires_ms) {
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
  std::string text = line + "\n";
  if (expires_ms != kNeverExpires) text += fmt::format("{}{}\n", kExpires, expires_ms);
  RETURN_IF_ERROR(write_request(folder, std::string(name).append(ending), text, owner));
  RETURN_IF_ERROR(sync_directory(path));
  RETURN_IF_ERROR(sync_directory(state_directory));
  return name;
}

absl::StatusOr<RequestFile> read_request_file(const std::string& path) {
  ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  ASSIGN_OR_RETURN(const uint64_t size, file.size());
  std::string text(std::min(size, kRequestBytesMost), '\0');
  RETURN_IF_ERROR(file.read_at(0, text.data(), text.size()));
  RequestFile out{.name = fs::path(path).stem(), .ending = fs::path(path).extension(), .line = {}};
  const size_t end = std::min(text.find('\n'), text.size());
  out.line = text.substr(0, end);
  const std::string_view rest = std::string_view(text).substr(std::min(end + 1, text.size()));
  if (rest.starts_with(kExpires))
    std::from_chars(rest.data() + kExpires.size(), rest.data() + rest.size(), out.expires_ms);
  return out;
}

bool RequestFile::expired() const { return expires_ms != kNeverExpires && Clock::unix_ms() >= expires_ms; }

std::string RequestFile::command() const {
  if (ending == kOffsetsRequest) return "doppel offsets " + line;
  for (const auto& [begins, flag] : {std::pair<std::string_view, std::string_view>{"id=", "--id "},
                                     {"event_id=", "--event-id "},
                                     {"tag=", "--where "}})
    if (line.starts_with(begins)) return fmt::format("doppel forget {}{}", flag, line.substr(begins.size()));
  return "doppel forget " + line;
}

std::vector<RequestFile> requests_in(const std::string& state_directory) {
  std::vector<RequestFile> out;
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(state_directory), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string ending = entry->path().extension();
    if (ending != kForgetRequest && ending != kOffsetsRequest) continue;
    absl::StatusOr<RequestFile> request = read_request_file(entry->path());
    if (!request.ok()) continue;
    if (const auto progress = request_progress(state_directory, request->name))
      request->stage = progress->stage;
    out.push_back(*std::move(request));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

bool is_left(const std::string& state_directory, const RequestFile& request) {
  return exists(join(folder_of(state_directory), request.name + request.ending));
}

absl::Status cancel_request(const std::string& state_directory, const std::string& name) {
  for (const RequestFile& request : requests_in(state_directory)) {
    if (request.name != name) continue;
    if (request.stage != "waiting") {
      return absl::FailedPreconditionError(
          fmt::format("{}: the daemon has begun it ({}) and carries it out", name, request.stage));
    }
    const std::string path = join(folder_of(state_directory), name + request.ending);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return io_error(fmt::format("{}: cannot be removed", path));
    ::unlink(join(folder_of(state_directory), name + ".progress").c_str());
    return sync_directory(folder_of(state_directory));
  }
  return absl::NotFoundError(
      fmt::format("there is no request {}: it was answered, has expired, or never was", name));
}

std::string kept_until(const std::string& name, int64_t expires_ms) {
  return fmt::format(
      "the request is kept until {}; doppel requests shows it, and doppel requests cancel {} removes it",
      format_time(expires_ms / 1000 * 1000), name);
}

absl::Status request_is_gone() {
  return absl::CancelledError("the request was cancelled, or has expired; nothing was changed");
}

std::optional<uint64_t> take_answer(const std::string& state_directory, const std::string& name) {
  const std::string path = join(folder_of(state_directory), name + ".done");
  uint64_t found = 0;
  if (!(std::ifstream(path) >> found)) return std::nullopt;
  ::unlink(path.c_str());
  return found;
}

std::string RequestProgress::line() const {
  return fmt::format("{} {} {} {} {} {}", stage, done, total, below, found, work);
}

std::optional<RequestProgress> RequestProgress::parse(const std::string& line) {
  RequestProgress out;
  std::istringstream in(line);
  if (!(in >> out.stage >> out.done >> out.total >> out.below >> out.found >> out.work)) return std::nullopt;
  return out;
}

std::optional<RequestProgress> request_progress(const std::string& state_directory, const std::string& name) {
  return RequestProgress::parse(first_line(join(folder_of(state_directory), name + ".progress")));
}

}  // namespace doppel
