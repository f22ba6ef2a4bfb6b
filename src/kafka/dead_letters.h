#pragma once
// Reads the topic of dead letters, and republishes letters: sends their records to the topics that they
// came from, each exactly once. One transaction holds a copy of the record and a note that the letter was
// republished. The note is a record in the letter's own partition, because a group's offsets would expire.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"
#include "kafka/producer.h"

namespace doppel::kafka {

// A header of copies and notes. Its value names the letter: "dead-letters/0/17".
inline constexpr std::string_view kRepublishedHeader = "doppel.republished";

// Views are valid during the call.
struct Letter {
  TopicPartition place;
  int64_t offset = 0;
  int64_t timestamp_ms = 0;  // of the record
  TopicPartition origin;
  std::string_view stage, reason;
  bool whole = true;  // else a part of the record was too large for the letter
  std::optional<std::string_view> key, value;
  std::span<const Header> headers;  // of the record
};

class DeadLetters {
 public:
  // `cluster` outlives it.
  DeadLetters(Cluster& cluster, std::string topic) : cluster_(cluster), topic_(std::move(topic)) {}

  struct Counts {
    uint64_t letters = 0;      // visited
    uint64_t republished = 0;  // earlier; not visited
    uint64_t others = 0;       // records that doppel did not write
  };
  // Visits every letter that is in the topic now, partition by partition. An error of `visit` ends it.
  using Visit = std::function<absl::Status(const Letter&)>;
  absl::StatusOr<Counts> read(const Visit& visit);

  struct Wanted {
    std::function<bool(const Letter&)> chosen;
    bool compress = false;  // a record that came compressed may only fit if it is compressed again
    std::function<bool()> stop = [] { return false; };
  };
  struct Done {
    uint64_t republished = 0;
    std::set<std::string> too_large;  // letters whose record is too large for its topic
  };
  // Republishes the chosen letters that are whole and whose topic exists. A letter is republished only
  // once, however often this is called and however it ends. Aborted: another process republishes letters of
  // this topic.
  absl::StatusOr<Done> republish(const Wanted& wanted);

 private:
  struct Extent {
    TopicPartition place;
    Watermarks bounds;
  };
  absl::StatusOr<std::vector<Extent>> extents();
  using Notes = std::map<TopicPartition, std::set<int64_t>>;  // the letters that were republished
  absl::StatusOr<Notes> read_notes(const std::vector<Extent>& all);
  absl::StatusOr<Counts> read(const std::vector<Extent>& all, const Notes& notes, const Visit& visit);
  absl::Status await_decided();
  absl::Status send_all(const Wanted& wanted, Producer& producer, Done& done,
                        std::optional<uint64_t>& noted_at_first);

  Cluster& cluster_;
  const std::string topic_;
};

}  // namespace doppel::kafka
