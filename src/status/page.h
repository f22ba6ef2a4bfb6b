#pragma once
// The status page and the page of a cluster, as HTML without scripts that loads nothing. The functions depend
// only on their arguments and escape every text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/originals.h"
#include "http/server.h"
#include "state/state_dir.h"
#include "status/activity.h"

namespace doppel {

struct IndexFacts {
  OriginalsStats stats;
  uint64_t body_bytes = 0;
  std::optional<CheckpointStats> snapshots;  // nullopt: there is no state directory
};

// The part of this process in an index on many machines.
struct ClusterPart {
  std::string role;                                        // such as "resolver" or "matcher of 0-31/64"
  bool decides = false;                                    // false: the page has no verdicts
  std::vector<std::pair<std::string, std::string>> facts;  // name and value
  struct Matcher {
    std::string shards;
    int64_t heard_ms = 0;  // when its last answer came
    uint64_t ahead = 0, behind_batches = 0;
    bool in_use = false;
  };
  std::vector<Matcher> matchers;  // only for a resolver: the matchers that it hears
};

struct PageData {
  std::string version;
  std::string mode;  // "Kafka" or "files"
  int64_t now_ms = 0, start_ms = 0;
  int refresh_s = 0;  // 0: the browser does not reload the page by itself

  std::vector<Sample> samples;  // oldest first

  std::optional<IndexFacts> index;  // nullopt: the stream did not answer in time
  uint64_t originals_most = 0;      // 0: no limit

  struct Lag {
    std::string topic;
    int32_t partition = 0;
    int64_t records = 0;
    std::optional<double> seconds;
  };
  std::optional<std::vector<Lag>> lags;  // nullopt: there are no partitions

  std::optional<ClusterPart> cluster;  // nullopt: one process does everything

  std::optional<http::Counts> http;

  std::vector<LastEvent> events;
  std::vector<DeadLetter> dead_letters;
  std::vector<HeavyHitters<Seq>::Entry> originals;
  std::vector<HeavyHitters<std::string>::Entry> host_pairs;

  struct Setting {
    std::string key, value, origin;
  };
  std::vector<Setting> settings;  // secrets hidden
};

std::string status_page(const PageData& data);
// The page of an original with its last copies. `id` is the cluster's id in the API (/v1/clusters/ID).
std::string cluster_page(std::string_view id, const Cluster& cluster, int64_t now_ms);
// The page for a cluster that is not among those that grew recently.
std::string no_cluster_page(std::string_view id);

// Escapes text for elements and for attributes in double quotes. Invalid UTF-8 and control characters become
// U+FFFD.
void append_html(std::string& out, std::string_view text);
// Replaces user and password in URLs such as "http://user:secret@host/" by "***".
std::string without_credentials(std::string_view text);

}  // namespace doppel
