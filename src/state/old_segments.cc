#include "state/old_segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/status.h"
#include "state/file.h"
#include "state/segment_directory.h"

namespace doppel {
namespace {

// How many originals of each share stay in memory.
uint64_t young_of_each(const SegmentSettings& o, const EngineOptions& engine, size_t shares) {
  const double half = static_cast<double>(o.memory) / 2;
  const double each = bytes_each(index_options(engine)).sum() * static_cast<double>(shares);
  return std::max<uint64_t>(2, static_cast<uint64_t>(half / each));
}

std::vector<std::string> folders_of(const std::string& epoch, size_t shares) {
  std::vector<std::string> out;
  for (size_t share = 0; share < shares; ++share) {
    const std::string which = shares == 1 ? "" : fmt::format("-{}of{}", share, shares);
    out.push_back(fmt::format("{}{}{}", SegmentDirectory::kFolder, epoch, which));
  }
  return out;
}

}  // namespace

absl::StatusOr<SegmentStores> open_segments(const SegmentSettings& o, const StateDir* state,
                                            EngineOptions& engine, std::launch merge_on) {
  engine.segments.clear();
  const std::vector<ShardSet> shares = o.memory == 0 ? std::vector<ShardSet>() : shares_of(engine);
  std::vector<std::string> folders;
  if (state != nullptr) {
    folders = folders_of(state->recovered().epoch, shares.size());
    SegmentDirectory::remove_others(o.directory, folders);
  }
  SegmentStores stores;
  for (size_t share = 0; share < shares.size(); ++share) {
    std::unique_ptr<SegmentStore> store;
    if (state == nullptr) {
      ASSIGN_OR_RETURN(store, SegmentDirectory::temporary(o.temporary_directory));
    } else {
      // Which numbers originals have depends on the indexes that are only read, so nothing remains of those.
      const Seq end = !o.after_others ? shares[share].local(state->recovered().next_seq) : 0;
      ASSIGN_OR_RETURN(store, SegmentDirectory::open(join(o.directory, folders[share]), end));
    }
    engine.segments.push_back(
        {.store = store.get(), .young = young_of_each(o, engine, shares.size()), .merge_on = merge_on});
    stores.push_back(std::move(store));
  }
  for (const SegmentOptions& each : engine.segments)
    engine.initial_capacity = std::min(engine.initial_capacity, each.young * shares.size());
  return stores;
}

}  // namespace doppel
