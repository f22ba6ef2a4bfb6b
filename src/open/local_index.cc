#include "open/local_index.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "open/embedded_state.h"
#include "open/setup.h"

namespace doppel {

absl::StatusOr<std::unique_ptr<LocalIndex>> LocalIndex::open(const Options& o, EngineOptions engine,
                                                             const How& how) {
  std::unique_ptr<LocalIndex> index(new LocalIndex);
  const Banding chosen = engine.rule.banding;
  ASSIGN_OR_RETURN(index->against_, Against::open(o.against, o.state_directory, engine));
  if (engine.rule.banding != chosen) log_kept_banding(engine.rule, chosen);
  if (o.state_directory.empty()) {
    ASSIGN_OR_RETURN(index->temporary_, temporary_bodies(o.temporary_directory));
  } else {
    ASSIGN_OR_RETURN(index->state_, open_embedded_state(o, engine, how.supports, how.sync_outputs,
                                                        index->against_->describe()));
    index->recovered_ = index->state_->recovered();
    RETURN_IF_ERROR(how.check(index->recovered_));
  }
  const Recovered& recovered = index->recovered_;
  engine.initial_capacity =
      std::max<uint64_t>(1024, index->from_others() + recovered.next_seq - recovered.first_row);
  ASSIGN_OR_RETURN(index->segments_, open_segments(segment_settings(o), index->state_.get(), engine));
  index->bodies_ = &index->against_->bodies(index->own_bodies());
  index->engine_ = std::make_unique<Engine>(engine, *index->bodies_);
  RETURN_IF_ERROR(
      restore_engine(*index->against_, index->state_.get(), *index->engine_, thread_count(o), how.report));
  return index;
}

}  // namespace doppel
