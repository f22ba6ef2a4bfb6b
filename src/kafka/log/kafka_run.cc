#include "kafka/log/kafka_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/faults.h"
#include "base/status.h"
#include "kafka/log/identity.h"

namespace doppel {

KeyPolicy key_policy(const Options& o) {
  return {.tombstones = o.tombstones == Tombstones::key, .replace = o.on_update == OnUpdate::replace};
}

kafka::KafkaSinkOptions sink_options(const Options& o, const KafkaPlan& plan, const KafkaIndex& index) {
  return {
      .events = plan.events,
      .dead_letters = plan.dead_letters,
      .unique = plan.unique,
      .index_log = plan.index_log,
      .key = o.output.key == OutputKey::cluster_id    ? kafka::EventKey::cluster_id
             : o.output.key == OutputKey::original_id ? kafka::EventKey::original_id
                                                      : kafka::EventKey::input,
      .all_verdicts = o.output.verdicts == Verdicts::all,
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

absl::Status claim_log(const KafkaIndexOptions& options, KafkaIndex& index) {
  const Options& o = options.options;
  kafka::TransactorOptions transactor;
  transactor.producer.transactions.id = options.plan.transactional_id;
  transactor.producer.transactions.transaction_timeout_ms = static_cast<int>(o.kafka.transaction_timeout_ms);
  transactor.producer.transactions.batch_bytes_max = options.plan.batch_bytes_max;
  transactor.producer.commit_deadline_ms = static_cast<int>(o.kafka.commit_deadline_ms);
  transactor.index_log = index.index_log;
  const std::string member = options.standby == nullptr ? "" : options.standby->member();
  transactor.owner = options.owner.empty() ? make_owner_name(member)
                     : member.empty()      ? options.owner
                                           : options.owner + '/' + member;
  transactor.owner_settings = standby_settings(o, options.plan);
  for (const kafka::OutputTopic& topic :
       {options.plan.events, options.plan.dead_letters, options.plan.unique})
    if (!topic.name.empty()) transactor.outputs.insert(topic.name);
  transactor.covers_to = index.position.log_offset;
  transactor.covers = [&index](const kafka::InputPlace& place) {
    const auto at = index.position.progress.find({place.topic, place.partition});
    return at != index.position.progress.end() && kafka::covers(at->second, place);
  };
  for (const kafka::OutputTopic& topic : {options.plan.dead_letters, options.plan.unique})
    if (topic.compressed) transactor.producer.transactions.compressed_topics.insert(topic.name);
  ASSIGN_OR_RETURN(index.transactor, kafka::Transactor::open(*options.plan.kafka, transactor, options.stop));
  for (const kafka::OutputTopic& topic :
       {options.plan.index_log, options.plan.events, options.plan.dead_letters, options.plan.unique})
    if (!topic.name.empty()) index.transactor->know_topic(topic.name);
  return absl::OkStatus();
}

absl::Status write_rule(KafkaIndex& index, const std::string& rule) {
  kafka::Outbox outbox;
  outbox.add_log(index.index_log, put_log_rule(outbox.bytes(), {rule}));
  RETURN_IF_ERROR(index.transactor->commit(outbox));
  index.position.log_offset = index.transactor->log_offset();
  return absl::OkStatus();
}

namespace {

absl::Status write(KafkaIndex& index, const std::vector<LogProgress>& progress, bool completes) {
  kafka::Outbox outbox;
  for (const LogProgress& p : progress) {
    outbox.add_log(index.index_log, put_log_progress(outbox.bytes(), p));
    if (p.forgotten) {
      index.position.progress.erase({p.topic, p.partition});
      continue;
    }
    outbox.progress.push_back(p);
    index.position.progress[{p.topic, p.partition}] = p;
  }
  if (completes) {
    index.epoch.complete = true;
    outbox.add_log(index.index_log, put_log_epoch(outbox.bytes(), index.epoch));
  }
  if (outbox.messages().empty()) return absl::OkStatus();
  RETURN_IF_ERROR(index.transactor->commit(outbox));
  index.position.log_offset = index.transactor->log_offset();
  return absl::OkStatus();
}

}  // namespace

absl::Status write_progress(KafkaIndex& index, const std::vector<LogProgress>& progress) {
  return write(index, progress, false);
}

absl::Status write_generation(KafkaIndex& index, const std::string& generation) {
  kafka::Outbox outbox;
  outbox.add_log(index.index_log, put_log_cut(outbox.bytes(), {generation, index.engine->cut()}));
  RETURN_IF_ERROR(index.transactor->commit(outbox));
  index.position.log_offset = index.transactor->log_offset();
  return absl::OkStatus();
}

absl::Status release_log(KafkaIndex& index) {
  const std::string released = '/' + index.position.owner;
  kafka::Outbox outbox;
  outbox.add_log(index.index_log, put_log_owner(outbox.bytes(), {released, index.position.owner_settings}));
  RETURN_IF_ERROR(index.transactor->commit(outbox));
  index.position.log_offset = index.transactor->log_offset();
  index.position.owner = released;
  return absl::OkStatus();
}

absl::Status complete_rebuild(KafkaIndex& index, std::vector<LogProgress> progress) {
  for (LogProgress& p : progress) p.written_ms = 0;  // a rebuild commits no offsets of a group
  return write(index, progress, true);
}

}  // namespace doppel
