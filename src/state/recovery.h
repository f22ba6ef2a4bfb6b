#pragma once
// Which commit is the truth: the last one that everything supports. The columns must be as long as it says,
// what they gained since the checkpoint must have the checksums that the commits wrote down (after a power
// loss anything behind a checkpoint may be torn), and the outputs must reach as far.

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
  size_t entry = 0;                // in JournalContents::entries
  std::vector<std::string> notes;  // why it is not the last one
};

// Rows [from, to): the first whose checksum does not fit (with `bodies`: or whose body's), else `to`. `what`
// says what is wrong with it.
absl::StatusOr<Seq> first_bad_row(const File& hot, const HotFormat& format, const BodiesFile* bodies,
                                  Seq from, Seq to, std::string& what);

// What is not supported: rows from `limit` on. An error if not even the checkpoint is supported; it names the
// file that is at fault.
absl::StatusOr<Recovery> choose_commit(const JournalContents& journal, const std::string& journal_path,
                                       const File& hot, const HotFormat& format, const File& bodies,
                                       Seq limit, const std::function<bool(std::string_view)>& supports);

}  // namespace doppel
