#include "daemon/requests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "formats/decoder.h"
#include "state/file.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;
constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr auto kShowEvery = std::chrono::milliseconds(500);
constexpr auto kAnswerTime = std::chrono::milliseconds(100);
constexpr auto kTryAgain = std::chrono::seconds(1);

// Writes all of the file or nothing, even if the process is killed. The file may not survive a power loss.
bool write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  std::ofstream out(temporary, std::ios::binary);
  out << text << std::flush;
  return out && ::rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace

ForgetRequests::ForgetRequests(const std::string& state_directory, Forgetting& forgetting)
    : folder_(join(state_directory, "requests")), forgetting_(forgetting) {}

std::string ForgetRequests::path(const std::string& name, std::string_view ending) const {
  return join(folder_, name).append(ending);
}

// Logs one message for each file. After the file is gone it may log again.
void ForgetRequests::complain(const std::string& about, std::string_view message) {
  if (complained_.insert(about).second) log::error(message);
}

void ForgetRequests::look() {
  const auto now = Clock::now();
  if (now - looked_ < kLookEvery) return;
  looked_ = now;
  std::error_code error;
  std::vector<std::string> names;
  std::set<std::string> paths{folder_};
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".request") continue;
    names.push_back(entry->path().stem());
    paths.insert(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    complain(folder_, fmt::format("{}: cannot be listed, so requests of doppel forget have no effect: {}. "
                                  "Give it to the user of the daemon (chown)",
                                  folder_, error.message()));
    return;
  }
  complained_.erase(folder_);
  std::erase_if(complained_, [&](const std::string& about) { return !paths.contains(about); });
  std::sort(names.begin(), names.end());  // the oldest first
  for (const std::string& name : names) {
    if (!known_.contains(name)) take(name);
  }
}

void ForgetRequests::take(const std::string& name) {
  const std::string file = path(name, ".request");
  const absl::StatusOr<RequestFile> request_file = read_request_file(file);
  absl::StatusOr<OriginalsWanted> wanted =
      request_file.ok() ? OriginalsWanted::parse(request_file->line) : request_file.status();
  if (request_file.ok() && !wanted.ok())
    wanted = invalid(fmt::format("{}: {}", file, std_sv(wanted.status().message())));
  if (!wanted.ok()) {
    if (absl::IsNotFound(wanted.status())) return;
    complain(file,
             fmt::format("a request to forget originals cannot be read; make it readable for the user of the "
                         "daemon, or delete it: {}",
                         std_sv(wanted.status().message())));
    return;
  }
  complained_.erase(file);
  Known known{.line = wanted->line()};
  Forgetting::Request request{.wanted = *std::move(wanted)};
  std::ifstream earlier(path(name, ".progress"));
  std::string line;
  std::getline(earlier, line);
  const auto before = RequestProgress::parse(line);
  if ((!before || before->stage != "removing") && request_file->expired()) return drop(name, *request_file);
  if (before) {
    request.below = known.shown.below = before->below;
    request.found = known.shown.found = before->found;
  }
  request.begins = [this, name](Seq below, uint64_t found) {
    Known& begun = known_.at(name);
    begun.shown = {.stage = "removing", .total = found, .below = below, .found = found};
    if (write_whole(path(name, ".progress"), begun.shown.line() + "\n")) return;
    log::warn(
        "the progress of a request cannot be written; if the daemon is killed now, originals that arrive "
        "until its next start are forgotten, too",
        {{"request", begun.line}, {"path", path(name, ".progress")}});
  };
  known.ticket = forgetting_.ask(std::move(request));
  if (known.ticket != nullptr) known_.emplace(name, std::move(known));  // else later
}

void ForgetRequests::drop(const std::string& name, const RequestFile& request) {
  const std::string file = path(name, ".request");
  if (::unlink(file.c_str()) != 0) {
    complain(file, fmt::format("{}: a request has expired, so it is not carried out, but it cannot be "
                               "removed. Give its directory to the user of the daemon (chown), or delete it",
                               file));
    return;
  }
  ::unlink(path(name, ".progress").c_str());
  log::warn("a request has expired and is not carried out; give the command again if it is still wanted",
            {{"command", request.command()}, {"expired", format_time(request.expires_ms)}});
}

void ForgetRequests::answer() {
  const auto now = Clock::now();
  // Each answer is synced. The time limit keeps many answers from blocking the stream.
  for (auto at = known_.begin(); at != known_.end() && Clock::now() - now < kAnswerTime;) {
    auto& [name, request] = *at;
    if (!request.forgotten) {
      const Forgetting::Progress progress = forgetting_.progress(request.ticket);
      if (progress.stage == Forgetting::Stage::done) {
        request.forgotten = progress.found;
        request.next = now;
      } else if (now >= request.next) {
        request.next = now + kShowEvery;
        show(name, request);
      }
    }
    const bool gone = request.forgotten && now >= request.next && answered(name, request);
    at = gone ? known_.erase(at) : std::next(at);
  }
}

// Writes the answer before it removes the request. If the process is killed in between, the next run finds no
// more originals to remove and writes the same answer.
bool ForgetRequests::answered(const std::string& name, Known& request) {
  const std::string file = path(name, ".request");
  absl::Status status;
  if (exists(file)) status = write_durably(path(name, ".done"), fmt::format("{}\n", *request.forgotten));
  if (status.ok() && ::unlink(file.c_str()) != 0 && errno != ENOENT)
    status = io_error(fmt::format("{}: cannot be removed", file));
  if (status.ok()) {
    ::unlink(path(name, ".progress").c_str());
    status = sync_directory(folder_);
  }
  if (status.ok()) return true;
  request.next = Clock::now() + kTryAgain;
  if (!std::exchange(request.complained, true)) {
    log::error(
        "a request to forget originals is finished, but the daemon cannot answer and remove it; it does not "
        "repeat it. Give its directory to the user of the daemon (chown), or delete the file",
        {{"path", file},
         {"request", request.line},
         {"originals", *request.forgotten},
         {"error", std_sv(status.message())}});
  }
  return false;
}

void ForgetRequests::show(const std::string& name, Known& request) {
  const Forgetting::Progress p = forgetting_.progress(request.ticket);
  RequestProgress now{.below = request.shown.below, .found = request.shown.found, .work = p.work};
  if (p.stage == Forgetting::Stage::searching) {
    now.stage = "searching";
    now.done = p.searched;
    now.total = p.to_search;
  } else if (p.stage == Forgetting::Stage::removing) {
    now.stage = "removing";
    now.done = p.removed;
    now.total = p.found;
  }
  if (now == request.shown) return;
  request.shown = now;
  write_whole(path(name, ".progress"), now.line() + "\n");
}

namespace {

constexpr std::string_view kAnswer = ".changed";

std::string path_of(const std::string& state_directory, const std::string& name, std::string_view ending) {
  return join(join(state_directory, "requests"), name).append(ending);
}

}  // namespace

absl::StatusOr<std::string> leave_offsets_request(const std::string& state_directory, const std::string& line,
                                                  int64_t expires_ms) {
  return leave_line(state_directory, line, kOffsetsRequest, expires_ms);
}

std::optional<std::string> take_offsets_answer(const std::string& state_directory, const std::string& name) {
  const std::string path = path_of(state_directory, name, kAnswer);
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  ::unlink(path.c_str());
  return text.str();
}

OffsetRequests::OffsetRequests(const std::string& state_directory) : state_directory_(state_directory) {}

bool OffsetRequests::any() {
  const auto now = Clock::now();
  if (any_ || now - looked_ < kLookEvery) return any_;
  looked_ = now;
  const std::vector<RequestFile> all = requests_in(state_directory_);
  any_ = std::any_of(all.begin(), all.end(), [](const auto& r) { return r.ending == kOffsetsRequest; });
  return any_;
}

absl::Status OffsetRequests::carry_out(
    const std::function<absl::StatusOr<std::string>(const std::string& line)>& carry_out) {
  any_ = false;
  for (const RequestFile& request : requests_in(state_directory_)) {
    // A person may have cancelled it while the one before was carried out.
    if (request.ending != kOffsetsRequest || !is_left(state_directory_, request)) continue;
    absl::StatusOr<std::string> changed =
        request.expired() ? invalid(fmt::format("the request has expired ({}); give the command again if it "
                                                "is still wanted",
                                                format_time(request.expires_ms)))
                          : carry_out(request.line);
    if (absl::IsInvalidArgument(changed.status()))
      changed = fmt::format("refused: {}\n", std_sv(changed.status().message()));
    RETURN_IF_ERROR(changed.status());
    log::warn(changed->starts_with("refused") ? "the input's offsets: a request was refused"
                                              : "the input's offsets: a request was carried out",
              {{"request", request.line}, {"says", *changed}});
    // If the process is killed before the unlink, the next one repeats the request, which sets the same
    // offsets.
    RETURN_IF_ERROR(write_durably(path_of(state_directory_, request.name, kAnswer), *changed));
    const std::string file = path_of(state_directory_, request.name, kOffsetsRequest);
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) return io_error(file + ": cannot be removed");
    RETURN_IF_ERROR(sync_directory(join(state_directory_, "requests")));
  }
  return absl::OkStatus();
}

}  // namespace doppel
