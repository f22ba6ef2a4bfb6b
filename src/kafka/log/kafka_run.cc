#include "kafka/log/kafka_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/kill_point.h"
#include "base/status.h"

namespace doppel {

KeyPolicy key_policy(const Options& o) {
  return {.tombstones = o.tombstones == "key", .replace = o.on_update == "replace"};
}

kafka::KafkaSinkOptions sink_options(const Options& o, const KafkaPlan& plan, const KafkaIndex& index) {
  return {
      .events = plan.events,
      .dead_letters = plan.dead_letters,
      .unique = plan.unique,
      .index_log = plan.index_log,
      .key = o.output.key == "cluster_id"    ? kafka::EventKey::cluster_id
             : o.output.key == "original_id" ? kafka::EventKey::original_id
                                             : kafka::EventKey::input,
      .all_verdicts = o.output.verdicts == "all",
      .context = {.scheme = fmt::format("{:016x}", index.scheme), .epoch = epoch_string(index.epoch.epoch)},
      .shows = [state = index.state.get()](Seq seq) { return state->shown(seq) != nullptr; },
      .scheme = index.scheme,
      .num_perm = o.num_perm,
      .mask_words = static_cast<int>(index.epoch.mask_words),
      .refresh_ms = std::min<int64_t>(3'600'000, plan.log_delete_retention_ms / 8)};
}

absl::Status commit_position(KafkaIndex& index) {
  const kafka::KafkaPosition& position = index.position;
  return index.state->commit(
      {.lowest_live = std::max(position.expire.lowest_live, index.state->recovered().lowest_live),
       .source_position = encode_position(position),
       .clock = index.engine->clock(),
       .documents = index.documents,
       .keep_from = position.expire.announced});
}

absl::Status SnapshotJournal::commit(const Batch& batch, const Resolved& resolved,
                                     std::string sink_position) {
  index_.documents += batch.records.size();
  kill_point("before_state_commit");
  RETURN_IF_ERROR(index_.state->commit({.rows = resolved.rows,
                                        .removed = resolved.removed_numbers(),
                                        .shown = resolved.shown(),
                                        .lowest_live = resolved.lowest_live,
                                        .source_position = std::move(sink_position),
                                        .clock = index_.engine->clock(),
                                        .documents = index_.documents,
                                        .keep_from = sink_.where().expire.announced}));
  kill_point("after_state_commit");
  return absl::OkStatus();
}

}  // namespace doppel
