#pragma once
// Finds the last commit that all files support. The columns must be as long as it says. What they gained
// since the checkpoint must have the checksums in the commits, because after a power loss anything behind a
// checkpoint may be torn. The outputs must be long enough, too.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "state/bodies_file.h"
#include "state/file.h"
#include "state/hot_file.h"
#include "state/journal.h"

namespace doppel {

struct Recovery {
  size_t entry = 0;                // index in JournalContents::entries
  std::vector<std::string> notes;  // why it is not the last one
};

// Returns the first row of [from, to) whose checksum does not match (with `bodies`, also the checksum of its
// body), or `to`. `what` then says what is wrong with it.
absl::StatusOr<Seq> first_bad_row(const File& hot, const HotFormat& format, const BodiesFile* bodies,
                                  Seq from, Seq to, std::string& what);

// Rows from `limit` on are known to be bad. It is an error if not even the checkpoint is supported; the
// message names the file.
absl::StatusOr<Recovery> choose_commit(const JournalContents& journal, const std::string& journal_path,
                                       const File& hot, const HotFormat& format, const File& bodies,
                                       Seq limit, const std::function<bool(std::string_view)>& supports);

}  // namespace doppel
