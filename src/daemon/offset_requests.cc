#include "daemon/offset_requests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "formats/decoder.h"
#include "state/file.h"

namespace doppel {
namespace {

constexpr std::chrono::milliseconds kLookEvery(200);
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
