#pragma once
// The status of an index on many machines, as each of its processes knows it.

#include <cstdint>
#include <string>
#include <vector>

namespace doppel {

struct ResolverStatus {
  struct Matcher {  // stands for all matchers with the same shards
    std::string shards;
    int64_t heard_ms = 0;         // when its last answer came
    uint64_t ahead = 0;           // records of the order that it has answered but that are not decided
    uint64_t behind_batches = 0;  // decided batches that its last answer does not cover
    bool in_use = false;          // the last batch was decided by its answers
  };
  std::vector<Matcher> matchers;  // those that answered within the last minutes
  uint64_t window_originals = 0;  // decided originals that not all answers cover yet
  uint64_t ahead_most = 0;        // cluster.ahead
  uint64_t asked_batches = 0;     // questions about a batch, because answers were missing
  uint64_t asked_documents = 0;   // questions about one document
  int64_t waiting_since_ms = 0;   // 0: no batch waits for answers
  std::string missing;            // the shards whose answers the waiting batch lacks
};

struct SignerStatus {  // counts since the start
  uint64_t records = 0, rejected = 0;
  uint64_t bytes = 0, signed_bytes = 0;  // of the documents, and of their signed records
  int64_t last_commit_ms = 0;            // 0: none yet
};

struct MatcherStatus {
  std::string shards;
  std::string resolver;         // the generation of the present resolver; empty: none has begun yet
  int64_t log_behind = 0;       // offsets of the index log that are not applied
  uint64_t ahead = 0;           // answered documents that are not committed
  uint64_t ahead_most = 0;      // cluster.ahead
  uint64_t answered = 0;        // documents answered since the start
  uint64_t found = 0;           // documents among them for which this matcher found something
  uint64_t answered_again = 0;  // questions about single documents answered
};

}  // namespace doppel
