// doppel clusters: collects events into whole clusters. The daemon keeps only a bounded part of a cluster in
// memory, but its events are complete.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "files/places.h"
#include "fmt/format.h"
#include "kafka/topics/named_topics.h"
#include "records/events.h"

namespace doppel {
namespace {

// A document of a cluster.
struct Member {
  std::string id, event_id, date, kind;  // no kind: the original
  uint32_t similarity_ppm = 0;
  uint64_t shingles = 0;  // computed from its relations; 0 without relations
};

// The shingles of a text of which `shared` are this share.
uint64_t whole_of(uint64_t shared, uint32_t share_ppm) {
  return share_ppm == 0 ? 0 : (shared * 1'000'000 + share_ppm / 2) / share_ppm;
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  out += fmt::format("\"{}\":", name);
  append_json_string(out, text);
}

struct ClustersOptions {
  bool join =
      false;  // an original that contains most of another one, or is contained in it, is in its cluster
  bool versions = false;  // the documents of a cluster in the order of their dates
};

class Clusters {
 public:
  explicit Clusters(const ClustersOptions& options) : options_(options) {}

  // Repeated events (from an at-least-once output, or a topic that is read twice) change nothing.
  void add(const ReadEvent& event) {
    if (event.type == ReadEvent::Type::original_removed) {
      const auto found = places_.find(std::string(event.cluster_id));
      if (found != places_.end()) clusters_[found->second].removed = event.reason;
      return;
    }
    const bool partial = event.type == ReadEvent::Type::partial_copy_of;
    if (event.type != ReadEvent::Type::duplicate_of && !(partial && options_.join)) return;
    if (!seen_.emplace(event.event_id).second) return;
    if (partial) {
      for (const ReadRelation& relation : event.relations)
        if (relation.relation == "contained" || relation.relation == "contains") join(event, relation);
      return;
    }
    Cluster& cluster = clusters_[place_of(event.cluster_id, event.original_id, event.original_date)];
    cluster.copies.push_back({.id = std::string(event.id),
                              .event_id = std::string(event.event_id),
                              .date = date_of(event.date),
                              .kind = std::string(event.kind),
                              .similarity_ppm = event.similarity_ppm});
  }

  void write() const {
    std::vector<std::vector<size_t>> parts(clusters_.size());
    for (size_t i = 0; i < clusters_.size(); ++i) parts[head_of(i)].push_back(i);
    for (size_t i = 0; i < clusters_.size(); ++i) {
      if (!parts[i].empty()) write(clusters_[i], parts[i]);
    }
  }

 private:
  struct Cluster {
    Member original;  // with a kind if this cluster joined another one
    std::string removed;
    std::vector<Member> copies;
    size_t head = 0;  // an earlier cluster that this one joined; its own index: none
  };

  // Only --versions needs dates.
  std::string date_of(std::string_view date) const {
    return options_.versions ? std::string(date) : std::string();
  }

  size_t place_of(std::string_view cluster_id, std::string_view id, std::string_view date) {
    const auto [place, fresh] = places_.try_emplace(std::string(cluster_id), clusters_.size());
    if (fresh) {
      Cluster& cluster = clusters_.emplace_back();
      cluster.original = {
          .id = std::string(id), .event_id = std::string(cluster_id), .date = date_of(date), .kind = {}};
      cluster.head = clusters_.size() - 1;
    }
    return place->second;
  }

  size_t head_of(size_t place) const {
    while (clusters_[place].head != place) place = clusters_[place].head;
    return place;
  }

  void join(const ReadEvent& event, const ReadRelation& relation) {
    const size_t one = place_of(relation.cluster_id, relation.original_id, relation.original_date);
    const size_t other = place_of(event.event_id, event.id, event.date);
    clusters_[one].original.shingles = whole_of(relation.shared, relation.of_original_ppm);
    clusters_[other].original.shingles = whole_of(relation.shared, relation.of_document_ppm);
    const size_t original = head_of(one), document = head_of(other);
    if (original == document) return;
    Cluster& later = clusters_[std::max(original, document)];
    later.head = std::min(original, document);
    later.original.kind = relation.relation;
    later.original.similarity_ppm =
        relation.relation == "contained" ? relation.of_document_ppm : relation.of_original_ppm;
  }

  void append(const Member& member, std::string& out) const {
    out += '{';
    append_text(out, "id", member.id);
    out += ',';
    append_text(out, "event_id", member.event_id);
    if (options_.versions) {
      out += ",\"date\":";
      member.date.empty() ? void(out += "null") : append_json_string(out, member.date);
    }
    out += ',';
    append_text(out, "kind", member.kind.empty() ? "original" : member.kind);
    if (!member.kind.empty()) {
      out += ",\"similarity\":";
      append_json_ppm(out, member.similarity_ppm);
    }
    out += '}';
  }

  void write(const Cluster& head, const std::vector<size_t>& parts) const {
    std::vector<const Member*> members;
    for (const size_t part : parts) {
      members.push_back(&clusters_[part].original);
      for (const Member& copy : clusters_[part].copies) members.push_back(&copy);
    }
    const size_t size = members.size();
    if (options_.versions) {
      std::stable_sort(members.begin(), members.end(), [](const Member* a, const Member* b) {
        return a->date.empty() != b->date.empty() ? b->date.empty() : a->date < b->date;
      });
    } else {
      members.erase(members.begin());  // the line begins with it
    }
    std::string out = "{";
    append_text(out, "cluster_id", head.original.event_id);
    out += ',';
    append_text(out, "id", head.original.id);
    out += fmt::format(",\"size\":{}", size);
    if (options_.versions) {
      const auto dated = std::find_if(members.rbegin(), members.rend(),
                                      [](const Member* member) { return !member->date.empty(); });
      if (dated != members.rend()) {
        out += ',';
        append_text(out, "last", (*dated)->event_id);
      }
      const Member* longest = &head.original;
      for (const size_t part : parts)
        if (clusters_[part].original.shingles > longest->shingles) longest = &clusters_[part].original;
      if (longest->shingles != 0) {
        out += ',';
        append_text(out, "longest", longest->event_id);
      }
    }
    out += options_.versions ? ",\"versions\":[" : ",\"duplicates\":[";
    for (size_t i = 0; i < members.size(); ++i) {
      if (i != 0) out += ',';
      append(*members[i], out);
    }
    out += ']';
    if (!head.removed.empty()) {
      out += ',';
      append_text(out, "removed", head.removed);
    }
    print_out("{}}}\n", out);
  }

  const ClustersOptions options_;
  std::vector<Cluster> clusters_;  // in the order of their first copies
  absl::flat_hash_map<std::string, size_t> places_;
  absl::flat_hash_set<std::string> seen_;
};

class Gatherer {
 public:
  explicit Gatherer(const ClustersOptions& options) : clusters_(options) {}

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
      "  doppel clusters --events duplicates.jsonl --join contained\n"
      "  doppel clusters --events duplicates.jsonl --join contained --versions > history.jsonl\n"
      "  doppel clusters --events doppel-duplicates --config doppel.yaml > clusters.jsonl\n"
      "  zstdcat events/*.zst | doppel clusters --events -",
      "doppel clusters");
  std::vector<std::string> inputs;
  std::string join;
  CommonFlags common;
  app.add_option("--events", inputs,
                 "files of events, - for stdin, or topics of the configured kafka.brokers (an existing file "
                 "is not read as a topic)")
      ->required();
  app.add_option("--join", join,
                 "contained: an original that is contained in another one, or contains it (events "
                 "partial-copy-of), is in its cluster with all its copies")
      ->check(CLI::IsMember({"contained"}))
      ->type_name("RELATION");
  bool versions = false;
  app.add_flag("--versions", versions,
               "each cluster's documents, the original too, in the order of their dates, and the last one; "
               "those without a date come last. With --join also the longest one, not counting near copies");
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
  Gatherer gatherer({.join = join == "contained", .versions = versions});
  for (const std::string& input : inputs) {
    const absl::Status status = gatherer.input(config->options, input);
    if (!status.ok())
      return fail("clusters", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
  }
  gatherer.clusters().write();
  return kExitDone;
}

}  // namespace doppel
