#include "kafka/state_content.h"
#include "engine/settings.h"

#include <fmt/format.h>

#include "base/checksums.h"
#include "engine/shard_set.h"
#include "kafka/client.h"
#include "open/setup.h"
#include "state/index_log.h"
#include "state/journal.h"
#include "state/state_dir.h"

namespace doppel::testing {

std::string difference(const StateContent& daemon, const StateContent& rebuilt) {
  if (daemon.rest != rebuilt.rest)
    return fmt::format("the daemon's index: {}; rebuilt: {}", daemon.rest, rebuilt.rest);
  for (const auto& [seq, row] : daemon.rows) {
    const auto other = rebuilt.rows.find(seq);
    if (other == rebuilt.rows.end()) return fmt::format("original {} is not in the rebuilt index", seq);
    if (other->second != row) return fmt::format("original {} differs in the rebuilt index", seq);
  }
  if (daemon.rows.size() != rebuilt.rows.size())
    return fmt::format("{} originals, {} rebuilt", daemon.rows.size(), rebuilt.rows.size());
  return "";
}

std::string difference_of_matcher(const StateContent& matcher, const std::string& shards,
                                  const StateContent& resolver) {
  const ShardSet own = parse_shards(shards).value();
  size_t expected = 0;
  for (const auto& [seq, row] : resolver.rows) {
    if (!own.owns(seq)) continue;
    ++expected;
    const auto found = matcher.rows.find(seq);
    if (found == matcher.rows.end())
      return fmt::format("the matcher of {} does not have original {}", shards, seq);
    if (found->second != row) return fmt::format("the matcher of {} has another original {}", shards, seq);
  }
  if (matcher.rows.size() != expected)
    return fmt::format("the matcher of {} has {} originals, expected {}", shards, matcher.rows.size(),
                       expected);
  return "";
}

StateContent read_state(const Options& options, const HashKey& key) {
  const auto fail = [&](const absl::Status& status) {
    throw KafkaError(fmt::format("{}: {}", options.state_directory, status.ToString()));
  };
  absl::StatusOr<EngineOptions> engine = engine_options(options, key);
  if (!engine.ok()) fail(engine.status());
  if (const auto last = last_commit(options.state_directory)) keep_banding(engine->rule, last->rule);
  const int num_perm = engine->scheme.num_perm, mask_words = (engine->rule.banding.bands + 31) / 32;
  std::string scheme = engine->scheme.describe();
  ShardSet own;
  if (!options.cluster.shards.empty()) {
    own = parse_shards(options.cluster.shards).value();
    scheme += "shards=" + own.text() + "\n";
  }
  const auto state = StateDir::open({.directory = options.state_directory,
                                     .data_scheme = scheme,
                                     .rule = describe_rule(engine->rule),
                                     .num_perm = num_perm,
                                     .mask_words = mask_words},
                                    {});
  if (!state.ok()) fail(state.status());
  const Recovered& r = (*state)->recovered();
  StateContent out;
  const absl::StatusOr<kafka::KafkaPosition> position = kafka::decode_position(r.source_position);
  if (!position.ok()) fail(position.status());
  out.rest = fmt::format("next {}, epoch {}", r.next_seq, r.epoch);
  out.rest += fmt::format(", clock {:08x}", crc32c(r.clock));
  for (const LogProgress& p : position->progress_list())
    out.rest += fmt::format(", {}/{} to {}", p.topic, p.partition, p.next);
  std::string buffer;
  const absl::Status loaded = (*state)->load_rows([&](const StoredRow& row) {
    if (row.seq < r.lowest_live || row.removed || !own.owns(row.seq)) return;
    std::string& text = out.rows[row.seq];
    text =
        fmt::format("{} {} {} {}", row.row.digest.low, row.row.digest.high, row.row.id_tag, row.trusted_ms);
    if (row.row.slices != nullptr) text.append(reinterpret_cast<const char*>(row.row.slices), num_perm);
    if (row.row.mask != nullptr)
      text.append(reinterpret_cast<const char*>(row.row.mask), mask_words * sizeof(uint32_t));
    const absl::StatusOr<Body> body = (*state)->bodies().read(row.row.body, buffer);
    if (!body.ok()) fail(body.status());
    text += fmt::format("{} {}", body->metadata, body->coded_set);
    if (const std::string* shown = (*state)->shown(row.seq); shown != nullptr) text += " shows " + *shown;
  });
  if (!loaded.ok()) fail(loaded);
  return out;
}

}  // namespace doppel::testing
