#include "embed/names.h"

#include <algorithm>

#include "base/status.h"
#include "pipeline/known_again.h"
#include "records/metadata.h"

namespace doppel {

uint64_t Names::tag(std::string_view id) const {
  std::string key(kProgramSource);
  key.push_back('\0');
  key.append(id);
  return engine_.id_tag(key);
}

absl::StatusOr<std::vector<Seq>> Names::find(std::string_view id) {
  RETURN_IF_ERROR(read_untagged());
  ASSIGN_OR_RETURN(std::vector<Seq> out, engine_.originals().find_id(tag(id)));
  if (const auto found = untagged_.find(absl_sv(id)); found != untagged_.end()) {
    for (const Seq seq : found->second)
      if (engine_.originals().live(seq)) out.push_back(seq);
  }
  std::sort(out.begin(), out.end());
  return out;
}

absl::Status Names::read_untagged() {
  if (read_) return absl::OkStatus();
  const Originals& index = engine_.originals();
  std::string buffer;
  std::string page;
  for (Seq seq = std::max(index.lowest_live(), index.first_own()); seq < untagged_end_; ++seq) {
    if (!index.live(seq)) continue;
    ASSIGN_OR_RETURN(const Row row, index.row(seq, page));
    if (row.id_tag != 0) continue;
    ASSIGN_OR_RETURN(const Body body, bodies_.read(row.body, buffer));
    Metadata metadata;
    RETURN_IF_ERROR(decode_metadata(body.metadata, metadata));
    untagged_[metadata.name()].push_back(seq);
  }
  read_ = true;
  return absl::OkStatus();
}

}  // namespace doppel
