#include "roles/roles.h"

#include <utility>

#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "daemon/daemon.h"
#include "daemon/web.h"
#include "kafka/log/identity.h"
#include "kafka/log/kafka_index.h"
#include "kafka/topics/plan.h"
#include "open/originals.h"
#include "shards/matching.h"
#include "shards/resolver_watch.h"

namespace doppel {

absl::Status serve_matcher(const Config& config, kafka::Cluster& cluster,
                           const std::function<bool()>& how_stop) {
  const Options& o = config.options;
  if (o.state_directory.empty()) return invalid("state.directory: a matcher keeps its originals there");
  ASSIGN_OR_RETURN(const ShardSet own, parse_shards(o.cluster.shards));
  ASSIGN_OR_RETURN(const std::unique_ptr<DaemonParts> daemon,
                   DaemonParts::begin(config, o, {.kafka = true, .stop = how_stop}));
  const std::function<bool()> stop = daemon->stopper();
  log::info("starting", {{"role", "matcher"}, {"shards", own.text()}, {"index_log", o.kafka.index_log}});
  ASSIGN_OR_RETURN(
      const KafkaPlan plan,
      plan_kafka(o, cluster,
                 real_cluster(o, {.stop = stop, .await_topics = true, .accept = [&](const std::string& id) {
                                    return refuse_state_of_another_log(cluster, {id, o.kafka.index_log},
                                                                       o.state_directory);
                                  }})));
  ASSIGN_OR_RETURN(const std::unique_ptr<KafkaIndex> index,
                   open_kafka_index({.options = o,
                                     .plan = plan,
                                     .key = daemon->key,
                                     .read_only = true,
                                     .own = own,
                                     .stop = stop,
                                     .restoring = daemon->monitor.progress_reports()}));
  Matching matching(o, plan, *index, daemon->monitor);
  RETURN_IF_ERROR(matching.open());
  const std::shared_ptr<void> watched =
      daemon->monitor.metrics().pull([&matching](Families& out) { matching.collect(out); });
  const std::unique_ptr<KeptOriginals> kept = kept_originals(*index->state, *index->engine);
  Web web(daemon->server.get(), {.config = config,
                                 .engine = *index->engine,
                                 .originals = *kept,
                                 .bodies = index->state->bodies(),
                                 .keys = key_policy(o),
                                 .forgets_not = "a matcher removes nothing by itself; ask the resolver",
                                 .checkpoint = [&] { return index->state->checkpoint(); },
                                 .snapshots = [&] { return index->state->checkpoint_stats(); },
                                 .cluster = [&] { return cluster_part(matching.status()); }});
  daemon->monitor.ready(*index->engine);
  log::info("ready", {{"role", "matcher"},
                      {"shards", own.text()},
                      {"originals", index->engine->originals().stats().live},
                      {"epoch", epoch_string(index->epoch.epoch)}});
  notify::ready();
  const absl::Status ran = matching.run(web);
  if (absl::IsDataLoss(ran)) mark_damaged(o.state_directory, std::string(ran.message()));
  RETURN_IF_ERROR(ran);
  return index->state->checkpoint();
}

}  // namespace doppel
