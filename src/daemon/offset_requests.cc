#include "daemon/offset_requests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "daemon/forget_requests.h"
#include "state/file.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLookEvery(200);
constexpr std::string_view kRequest = ".offsets", kAnswer = ".changed";

std::vector<fs::path> requests_in(const std::string& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == kRequest) out.push_back(entry->path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

absl::StatusOr<std::string> leave_offsets_request(const std::string& state_directory,
                                                  const std::string& line) {
  return leave_line(state_directory, line, kRequest);
}

std::optional<std::string> take_offsets_answer(const std::string& state_directory, const std::string& name) {
  const std::string path = join(join(state_directory, "requests"), name).append(kAnswer);
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  ::unlink(path.c_str());
  return text.str();
}

OffsetRequests::OffsetRequests(const std::string& state_directory)
    : folder_(join(state_directory, "requests")) {}

bool OffsetRequests::any() {
  const auto now = Clock::now();
  if (any_ || now - looked_ < kLookEvery) return any_;
  looked_ = now;
  any_ = !requests_in(folder_).empty();
  return any_;
}

absl::Status OffsetRequests::carry_out(
    const std::function<absl::StatusOr<std::string>(const std::string& line)>& carry_out) {
  any_ = false;
  for (const fs::path& path : requests_in(folder_)) {
    std::string line;
    std::getline(std::ifstream(path), line);
    absl::StatusOr<std::string> changed = carry_out(line);
    if (absl::IsInvalidArgument(changed.status()))
      changed = fmt::format("refused: {}\n", std_sv(changed.status().message()));
    RETURN_IF_ERROR(changed.status());
    log::warn("the input's offsets: a request was carried out", {{"request", line}, {"says", *changed}});
    fs::path answer = path;
    answer.replace_extension(kAnswer);
    // If the process is killed before the unlink, the next one repeats the request. It sets the same offsets,
    // except that an "end" may have moved.
    RETURN_IF_ERROR(write_durably(answer.string(), *changed));
    if (::unlink(path.c_str()) != 0) return io_error(path.string() + ": cannot be removed");
    RETURN_IF_ERROR(sync_directory(folder_));
  }
  return absl::OkStatus();
}

}  // namespace doppel
