#include "files/revisits/copies_of_events.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include "base/status.h"

namespace doppel {

absl::StatusOr<CopiesOfEvents> CopiesOfEvents::open(const std::string& path) {
  CopiesOfEvents out(path);
  std::error_code none;
  if (path != "-" && std::filesystem::is_regular_file(path, none)) return out;
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file) return invalid(path + ": cannot be read");
  }
  std::istream& from = path == "-" ? std::cin : file;
  ASSIGN_OR_RETURN(Spill spill, Spill::open(std::filesystem::temp_directory_path(none)));
  std::string piece(1 << 20, '\0');
  while (from.read(piece.data(), static_cast<std::streamsize>(piece.size())) || from.gcount() != 0) {
    const absl::StatusOr<uint64_t> written =
        spill.append(std::string_view(piece).substr(0, static_cast<size_t>(from.gcount())));
    RETURN_IF_ERROR(written.status());
  }
  if (from.bad()) return absl::DataLossError(absl_sv(path + ": cannot be read to its end"));
  out.copied_ = std::move(spill);
  return out;
}

absl::Status CopiesOfEvents::each(const Visit& visit, const std::function<void(const std::string&)>& say) {
  std::ifstream lines(copied_ ? fmt::format("/proc/self/fd/{}", copied_->fd()) : path_);
  if (!lines) return invalid(path_ + ": cannot be read");
  counts_ = {};
  uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    absl::StatusOr<std::optional<PayloadCopy>> copy = payload_copy_of_event(line);
    if (!copy.ok() && is_verdict_line(line)) {
      ++counts_.verdicts;
    } else if (!copy.ok()) {
      ++counts_.wrong;
      if (say) say(fmt::format("{}:{}: {}", path_, number, std_sv(copy.status().message())));
    } else if (!*copy) {
      ++counts_.others;
    } else {
      ++counts_.copies;
      RETURN_IF_ERROR(visit(**std::move(copy)));
    }
  }
  if (lines.bad()) return absl::DataLossError(absl_sv(path_ + ": cannot be read to its end"));
  return absl::OkStatus();
}

}  // namespace doppel
