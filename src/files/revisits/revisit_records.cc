#include "files/revisits/revisit_records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "files/byte_stream.h"
#include "files/read/content.h"
#include "records/events.h"

namespace doppel {

namespace {

// Whether these first bytes can be those of events. What else people give is named.
absl::Status check_events(const std::string& path, std::string_view head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] == '{') return absl::OkStatus();
  const bool warc = head.starts_with("WARC");
  return invalid(fmt::format("{}: {}; give the events that doppel scan or serve writes{}", path,
                             warc ? "a WARC file" : "not lines of JSON",
                             warc ? ", and WARC files behind them" : ""));
}

}  // namespace

absl::StatusOr<CopiesOfEvents> CopiesOfEvents::open(const std::string& path) {
  CopiesOfEvents out(path);
  Fd fd(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string head(4, '\0');  // tells the packing, and WARC files from JSON
  size_t there = 0;
  while (there < head.size()) {
    const ssize_t got = ::read(fd.get(), head.data() + there, head.size() - there);
    if (got < 0) return invalid(path + ": cannot be read");
    if (got == 0) break;
    there += static_cast<size_t>(got);
  }
  head.resize(there);
  const Packing packing = packing_in(head);
  std::error_code none;
  if (packing == Packing::none && path != "-" && std::filesystem::is_regular_file(path, none)) {
    RETURN_IF_ERROR(check_events(path, head));
    return out;
  }
  const auto from =
      make_byte_stream(std::move(fd), packing, std::make_shared<std::atomic<uint64_t>>(0), head);
  ASSIGN_OR_RETURN(Spill spill, Spill::open(std::filesystem::temp_directory_path(none)));
  std::string piece(1 << 20, '\0');
  for (bool first = true;; first = false) {
    const absl::StatusOr<size_t> read = from->read(piece.data(), piece.size());
    if (!read.ok())
      return absl::DataLossError(absl_sv(fmt::format("{}: {}", path, std_sv(read.status().message()))));
    if (*read == 0) break;
    const std::string_view bytes = std::string_view(piece).substr(0, *read);
    if (first) RETURN_IF_ERROR(check_events(path, bytes));
    RETURN_IF_ERROR(spill.append(bytes).status());
  }
  out.copied_ = std::move(spill);
  return out;
}

absl::Status CopiesOfEvents::each(const Visit& visit, const std::function<void(const std::string&)>& say,
                                  const std::function<void(const OtherCopy&)>& other) {
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
      const std::optional<OtherCopy> near = other ? other_copy_of_event(line) : std::nullopt;
      if (near) other(*near);
    } else {
      ++counts_.copies;
      RETURN_IF_ERROR(visit(**std::move(copy)));
    }
  }
  if (lines.bad()) return absl::DataLossError(absl_sv(path_ + ": cannot be read to its end"));
  return absl::OkStatus();
}

namespace {

using Key = PayloadGroups::Key;

const std::string& file_of(const NamedRecord& record) {
  return record.file.empty() ? record.filename : record.file;
}

}  // namespace

absl::StatusOr<RevisitRecordsReport> each_revisit_record(
    CopiesOfEvents& events, const std::function<absl::Status(std::string_view)>& write,
    const std::function<void(const std::string&)>& say) {
  PayloadGroups groups;
  absl::flat_hash_set<std::string> files;  // files that have copies
  RETURN_IF_ERROR(events.each(
      [&](const PayloadCopy& event) {
        groups.tie(event.copy.capture(), event.original.capture());
        files.insert(file_of(event.copy));
        return absl::OkStatus();
      },
      say));

  // Finds the groups whose earliest capture is not the original that an event names.
  absl::flat_hash_map<Key, NamedRecord> earliest;
  RETURN_IF_ERROR(events.each([&](const PayloadCopy& event) {
    const Key first = groups.earliest(event.copy.capture().key);
    if (first != event.original.capture().key) earliest.try_emplace(first);
    return absl::OkStatus();
  }));
  if (!earliest.empty()) {
    RETURN_IF_ERROR(events.each([&](const PayloadCopy& event) {
      for (const NamedRecord* record : {&event.copy, &event.original}) {
        const auto found = earliest.find(record->capture().key);
        if (found != earliest.end() && found->second.date.empty()) found->second = *record;
      }
      return absl::OkStatus();
    }));
  }

  RevisitRecordsReport report;
  absl::flat_hash_set<Key> decided;  // in the groups of `earliest`
  const auto put = [&](const NamedRecord& copy, const NamedRecord& original, const std::string& name) {
    ++report.records;
    return write(revisit_record(copy, original, name));
  };
  const auto decide = [&](const PayloadCopy& event) -> absl::Status {
    const Key copy = event.copy.capture().key, original = event.original.capture().key;
    if (copy == original) {
      ++report.same;
      return absl::OkStatus();
    }
    const auto found = earliest.find(groups.earliest(copy));
    if (found == earliest.end()) return put(event.copy, event.original, event.event_id);
    const NamedRecord& first = found->second;
    if (copy != found->first && decided.insert(copy).second)
      RETURN_IF_ERROR(put(event.copy, first, event.event_id));
    if (original == found->first || !decided.insert(original).second) return absl::OkStatus();
    if (!files.contains(file_of(event.original))) {
      ++report.refused;
      return absl::OkStatus();
    }
    ++report.turned;
    return put(event.original, first, event.event_id + " original");
  };
  RETURN_IF_ERROR(events.each(decide));
  return report;
}

}  // namespace doppel
