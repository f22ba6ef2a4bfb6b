#include "files/revisits/revisit_records.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "records/events.h"

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
