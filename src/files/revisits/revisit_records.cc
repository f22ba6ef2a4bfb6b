#include "files/revisits/revisit_records.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "records/payload_groups.h"

namespace doppel {
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
