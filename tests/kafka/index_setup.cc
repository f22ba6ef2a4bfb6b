#include "kafka/index_setup.h"

#include <fmt/format.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/crc32c.h"
#include "config/config.h"
#include "kafka/broker.h"
#include "serve/setup.h"
#include "state/state_dir.h"
#include "stream/kafka/kafka_position.h"

namespace doppel::testing {
namespace {

constexpr const char* kHashKey = "000102030405060708090a0b0c0d0e0f";

HashKey hash_key() { return *parse_hash_key(kHashKey); }

// What a state directory holds of the live index, in a form that two of them can be compared by.
struct StateContent {
  std::map<Seq, std::string> rows;
  std::string rest;
};

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

}  // namespace

IndexSetup::IndexSetup(const std::string& bootstrap, const Settings& settings, int partitions, int topics)
    : bootstrap_(bootstrap), config_file_(dir_ / "doppel.yaml") {
  const std::string name = unique_name("t");
  Client client(bootstrap);
  for (int i = 0; i < topics; ++i) {
    inputs_.push_back(topics == 1 ? name + "-in" : fmt::format("{}-in-{}", name, i));
    client.create_topic(inputs_.back(), partitions, {{"max.message.bytes", "80000000"}});
  }
  settings_ = {
      {"kafka.brokers", bootstrap},         {"kafka.topics", "[" + absl::StrJoin(inputs_, ", ") + "]"},
      {"kafka.index_log", name + "-index"}, {"kafka.group", name},
      {"kafka.create_topics", "true"},      {"kafka.partitions", "2"},
      {"output.topic", name + "-events"},   {"output.dead_letters", name + "-dead"},
      {"state.directory", dir_ / "state"},  {"threads", "1"},
  };
  set(settings);
}

IndexSetup::IndexSetup(const IndexSetup& other, const std::string& state)
    : bootstrap_(other.bootstrap_),
      config_file_(dir_ / "doppel.yaml"),
      inputs_(other.inputs_),
      settings_(other.settings_) {
  set({{"state.directory", state}});
}

void IndexSetup::set(const Settings& settings) {
  for (const auto& [key, value] : settings) {
    settings_[key] = absl::StrReplaceAll(value, {{"~", settings_["kafka.group"]}});
  }
  write_config();
}

void IndexSetup::write_config() {
  std::map<std::string, std::string> sections;
  std::string text;
  for (const auto& [key, value] : settings_) {
    const size_t dot = key.find('.');
    if (dot == std::string::npos) {
      text += fmt::format("{}: {}\n", key, value);
    } else {
      sections[key.substr(0, dot)] += fmt::format("  {}: {}\n", key.substr(dot + 1), value);
    }
  }
  for (const auto& [section, lines] : sections) text += fmt::format("{}:\n{}", section, lines);
  write_file(config_file_, text);
  const absl::StatusOr<Config> config = load_config({.file = config_file_, .sets = {}, .environment = {}});
  if (!config.ok()) throw KafkaError(config.status().ToString());
  options_ = config->options;
}

std::unique_ptr<Daemon> IndexSetup::serve(Daemon::Environment environment) const {
  environment["DOPPEL_HASH_KEY"] = kHashKey;
  return std::make_unique<Daemon>(std::vector<std::string>{"serve", "--config", config_file_}, environment);
}

Ran IndexSetup::run(const std::string& command) const {
  return run_doppel(fmt::format("{} --config '{}'", command, config_file_),
                    fmt::format("DOPPEL_HASH_KEY={}", kHashKey));
}

bool IndexSetup::await_all(Daemon& daemon, std::chrono::seconds patience) {
  Offsets ends;
  for (const std::string& topic : inputs_) {
    const std::vector<Message> messages = read_all(bootstrap_, topic);
    ends.merge(ends_of(messages, messages.size()));
  }
  LogFollower follower(bootstrap_, options_.kafka.index_log);
  return follower.await(ends, patience, [&] { return daemon.await_exit(Daemon::Seconds(0)).has_value(); });
}

namespace {

StateContent read_state(const Options& options) {
  const auto fail = [&](const absl::Status& status) {
    throw KafkaError(fmt::format("{}: {}", options.state_directory, status.ToString()));
  };
  const absl::StatusOr<EngineOptions> engine = engine_options(options, hash_key());
  if (!engine.ok()) fail(engine.status());
  const int num_perm = engine->scheme.num_perm, mask_words = (engine->rule.banding.bands + 31) / 32;
  const auto state = StateDir::open({.directory = options.state_directory,
                                     .data_scheme = engine->scheme.describe(),
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
    if (row.seq < r.lowest_live || row.removed) return;
    std::string& text = out.rows[row.seq];
    text =
        fmt::format("{} {} {} {}", row.row.digest.low, row.row.digest.high, row.row.id_tag, row.trusted_ms);
    if (row.row.slices != nullptr) text.append(reinterpret_cast<const char*>(row.row.slices), num_perm);
    if (row.row.mask != nullptr)
      text.append(reinterpret_cast<const char*>(row.row.mask), mask_words * sizeof(uint32_t));
    const absl::StatusOr<Body> body = (*state)->bodies().read(row.row.body, buffer);
    if (!body.ok()) fail(body.status());
    text += fmt::format("{} {}", body->metadata, body->coded_set);
  });
  if (!loaded.ok()) fail(loaded);
  return out;
}

}  // namespace

std::string IndexSetup::compare_with_rebuilt() const {
  IndexSetup rebuilt(*this, dir_ / "rebuilt");
  const Ran ran = rebuilt.run("rebuild --from log");
  if (ran.code != 0) return fmt::format("doppel rebuild --from log: exit {}: {}", ran.code, ran.err);
  return difference(read_state(options_), read_state(rebuilt.options_));
}

Verification IndexSetup::verify() const { return verify_run(bootstrap_, options_, hash_key(), inputs_); }

}  // namespace doppel::testing
