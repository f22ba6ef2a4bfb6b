// doppel clusters: collects events into whole clusters. The daemon keeps only a bounded part of a cluster in
// memory, but its events are complete.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/json_text.h"
#include "base/status.h"
#include "commands/commands.h"
#include "commands/say.h"
#include "files/places.h"
#include "fmt/format.h"
#include "kafka/topics/event_topic.h"
#include "records/event_reader.h"

namespace doppel {
namespace {

class Clusters {
 public:
  // Repeated events (from an at-least-once output, or a topic that is read twice) change nothing.
  void add(const ReadEvent& event) {
    if (event.type == ReadEvent::Type::original_removed) {
      const auto found = places_.find(std::string(event.cluster_id));
      if (found != places_.end()) clusters_[found->second].removed = event.reason;
      return;
    }
    if (event.type != ReadEvent::Type::duplicate_of || !seen_.emplace(event.event_id).second) return;
    const auto [place, fresh] = places_.try_emplace(std::string(event.cluster_id), clusters_.size());
    if (fresh) {
      std::string& head = clusters_.emplace_back().head;
      head = "{\"cluster_id\":";
      append_json_string(head, event.cluster_id);
      head += ",\"id\":";
      append_json_string(head, event.original_id);
    }
    Cluster& cluster = clusters_[place->second];
    std::string& out = cluster.members;
    if (cluster.copies++ != 0) out += ',';
    out += "{\"id\":";
    append_json_string(out, event.id);
    out += ",\"event_id\":";
    append_json_string(out, event.event_id);
    out += ",\"kind\":";
    append_json_string(out, event.kind);
    out += ",\"similarity\":";
    append_json_ppm(out, event.similarity_ppm);
    out += '}';
  }

  void write() const {
    for (const Cluster& cluster : clusters_) {
      std::string removed;
      if (!cluster.removed.empty()) {
        removed = ",\"removed\":";
        append_json_string(removed, cluster.removed);
      }
      print_out("{},\"size\":{},\"duplicates\":[{}]{}}}\n", cluster.head, cluster.copies + 1, cluster.members,
                removed);
    }
  }

 private:
  struct Cluster {
    std::string head, members, removed;
    uint64_t copies = 0;
  };
  std::vector<Cluster> clusters_;  // in the order of their first copies
  absl::flat_hash_map<std::string, size_t> places_;
  absl::flat_hash_set<std::string> seen_;
};

class Gatherer {
 public:
  absl::Status add(const std::string& place, const std::string& text) {
    ReadEvent event;
    if (const absl::Status status = reader_.read(text, event); !status.ok())
      return invalid(fmt::format("{}: {}", place, std_sv(status.message())));
    clusters_.add(event);
    return absl::OkStatus();
  }

  absl::Status lines(std::istream& in, const std::string& name) {
    std::string line;
    for (uint64_t number = 1; std::getline(in, line); ++number) {
      if (!line.empty()) RETURN_IF_ERROR(add(fmt::format("{}:{}", name, number), line));
    }
    return in.bad() ? io_error(name + ": cannot be read") : absl::OkStatus();
  }

  absl::Status topic(const Options& options, const std::string& name) {
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    const absl::Status status = read_event_topic(
        options, name,
        [this](const std::string& place, const std::string& event) { return add(place, event); },
        [&](double done) {
          if (terminal) print_err("\r{}: {:.0f} %", name, done * 100);
        });
    if (terminal) print_err("\r\033[K");
    return status;
  }

  // Reads a file, stdin (-), or a topic of the configured brokers.
  absl::Status input(const Options& options, const std::string& name) {
    if (name == "-") return lines(std::cin, "stdin");
    if (std::ifstream in(name); in) return lines(in, name);
    if (name.find('/') != std::string::npos) return invalid(name + ": cannot be opened");
    if (options.kafka.brokers.empty()) {
      return invalid(name +
                     ": there is no such file; if it is a topic, name the brokers: --config FILE, or "
                     "--set kafka.brokers=HOST:PORT");
    }
    return topic(options, name);
  }

  const Clusters& clusters() const { return clusters_; }

 private:
  EventReader reader_;
  Clusters clusters_;
};

}  // namespace

int clusters_main(int argc, char** argv) {
  CLI::App app(
      "Collects events (duplicate-of, docs/events.md) into clusters: one line per original that has copies, "
      "in the\n"
      "order of the first copies, as `doppel scan --clusters` writes them. Repeated events count once. If "
      "an\n"
      "original was removed in the meantime, its line has a member \"removed\" with the reason. All copies "
      "are kept\n"
      "in memory until the end. A topic is read with read_committed, from its beginning to its current "
      "end.\n\n"
      "Examples:\n"
      "  doppel clusters --events duplicates.jsonl > clusters.jsonl\n"
      "  doppel clusters --events doppel-duplicates --config doppel.yaml > clusters.jsonl\n"
      "  zstdcat events/*.zst | doppel clusters --events -",
      "doppel clusters");
  std::vector<std::string> inputs;
  CommonFlags common;
  app.add_option("--events", inputs,
                 "files of events, - for stdin, or topics of the configured kafka.brokers (an existing file "
                 "is not read as a topic)")
      ->required();
  add_common_flags(app, common);
  app.footer("Exit codes: 0 done; 2 wrong usage, or a line that is not an event; 3 a read or write error.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  const absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("clusters", config.status(), kExitUsage);
  const NamedPath outputs[] = {{"clusters", "-"}};
  std::vector<NamedPath> places;
  places.reserve(inputs.size());
  for (const std::string& input : inputs) places.push_back({"--events", input});
  if (const absl::Status status = check_outputs(outputs, places); !status.ok())
    return fail("clusters", status, kExitUsage);
  Gatherer gatherer;
  for (const std::string& input : inputs) {
    const absl::Status status = gatherer.input(config->options, input);
    if (!status.ok())
      return fail("clusters", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
  }
  gatherer.clusters().write();
  return kExitDone;
}

}  // namespace doppel
