#pragma once
// The status page and the page of a cluster: an HTML text without scripts and without anything to be loaded.
// A pure function of what it shows; every text from outside is escaped.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/originals.h"
#include "state/state_dir.h"
#include "status/activity.h"

namespace doppel {

struct IndexFacts {
  OriginalsStats stats;
  uint64_t body_bytes = 0;
  std::optional<CheckpointStats> snapshots;  // none: nothing is kept
};

// The part of this process in an index on many machines.
struct ClusterPart {
  std::string role;                                        // "resolver", "matcher of 0-31/64"
  bool decides = false;                                    // false: the page has no verdicts
  std::vector<std::pair<std::string, std::string>> facts;  // name and value
  struct Matcher {
    std::string shards;
    int64_t heard_ms = 0;  // when its last answer came
    uint64_t ahead = 0, behind_batches = 0;
    bool in_use = false;
  };
  std::vector<Matcher> matchers;  // that a resolver hears
};

struct PageData {
  std::string version;
  std::string mode;  // "Kafka", "files"
  int64_t now_ms = 0, start_ms = 0;
  int refresh_s = 0;  // 0: the browser shows it as it is until it is asked again

  std::vector<Sample> samples;  // oldest first

  std::optional<IndexFacts> index;  // none: the stream did not answer in time
  uint64_t originals_most = 0;      // 0: any number

  struct Lag {
    std::string topic;
    int32_t partition = 0;
    int64_t records = 0;
    std::optional<double> seconds;
  };
  std::optional<std::vector<Lag>> lags;  // none: there are no partitions

  std::optional<ClusterPart> cluster;  // none: one process does everything

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
// An original with its last copies; the address of its cluster in the API is `id` below /v1/clusters.
std::string cluster_page(std::string_view id, const Cluster& cluster, int64_t now_ms);
// What is said of a cluster that is not among those that grew lately.
std::string no_cluster_page(std::string_view id);

// For text and for attributes in double quotes; what is no UTF-8 and control characters become U+FFFD.
void append_html(std::string& out, std::string_view text);
// "http://user:secret@host/" without the user and the secret.
std::string without_credentials(std::string_view text);

}  // namespace doppel
