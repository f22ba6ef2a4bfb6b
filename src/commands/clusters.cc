// doppel clusters: events gathered into whole clusters. What the daemon keeps in memory of a cluster is
// bounded; the events have all of it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "commands/commands.h"
#include "fmt/format.h"
#include "formats/event_reader.h"
#include "stream/json_text.h"

namespace doppel {
namespace {

class Clusters {
 public:
  // A repeated event (an output that is at least once, a topic read twice) changes nothing.
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
      fmt::print("{},\"size\":{},\"duplicates\":[{}]{}}}\n", cluster.head, cluster.copies + 1,
                 cluster.members, removed);
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

absl::Status gather(std::istream& in, const std::string& name, Clusters& clusters) {
  EventReader reader;
  std::string line;
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    ReadEvent event;
    if (const absl::Status status = reader.read(line, event); !status.ok())
      return invalid(fmt::format("{}:{}: {}", name, number, std_sv(status.message())));
    clusters.add(event);
  }
  if (in.bad()) return io_error(name + ": cannot be read");
  return absl::OkStatus();
}

}  // namespace

int clusters_main(int argc, char** argv) {
  CLI::App app(
      "Gathers events (duplicate-of, docs/events.md) into clusters: a line for each original that has "
      "copies,\n"
      "in the order of the first copies, as `doppel scan --clusters` writes them. Repeated events count "
      "once.\n"
      "An original that was forgotten meanwhile has a member \"removed\" with the reason. All copies are "
      "held in\n"
      "memory until the end.\n\n"
      "Examples:\n"
      "  doppel clusters --events duplicates.jsonl > clusters.jsonl\n"
      "  kcat -C -e -q -b localhost:9092 -t doppel-duplicates | doppel clusters --events -",
      "doppel clusters");
  std::vector<std::string> files;
  app.add_option("--events", files, "files of events, - for stdin")->required();
  app.footer("Exit codes: 0 done; 2 wrong usage, or a line that is no event.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  Clusters clusters;
  for (const std::string& file : files) {
    absl::Status status;
    if (file == "-") {
      status = gather(std::cin, "stdin", clusters);
    } else if (std::ifstream in(file); in) {
      status = gather(in, file, clusters);
    } else {
      status = io_error(file + ": cannot be opened");
    }
    if (!status.ok()) return fail("clusters", status, kExitUsage);
  }
  clusters.write();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail("clusters", "stdout: cannot be written", kExitStopped);
  return kExitDone;
}

}  // namespace doppel
