#pragma once
// How an index on many machines goes, as one of its processes knows it.

#include <cstdint>
#include <string>
#include <vector>

namespace doppel {

struct ResolverStatus {
  struct Matcher {  // all that have the same shards
    std::string shards;
    int64_t heard_ms = 0;         // when its last answer came
    uint64_t ahead = 0;           // records of the order that it has answered and that are not decided
    uint64_t behind_batches = 0;  // that were decided and that its last answer did not know
    bool in_use = false;          // the last batch was decided by its answers
  };
  std::vector<Matcher> matchers;  // those that answered within the last minutes
  uint64_t window_originals = 0;  // decided, and not covered by all answers yet
  uint64_t ahead_most = 0;        // cluster.ahead
  uint64_t asked_batches = 0;     // questions since the start, for lack of answers
  uint64_t asked_documents = 0;   // questions in the midst of a batch
  int64_t waiting_since_ms = 0;   // 0: all answers that are needed are there
  std::string missing;            // shards without an answer to the batch that waits
};

struct SignerStatus {  // since the start
  uint64_t records = 0, rejected = 0;
  uint64_t bytes = 0, signed_bytes = 0;  // of the documents, and of their signed records
  int64_t last_commit_ms = 0;            // 0: none yet
};

struct MatcherStatus {
  std::string shards;
  std::string resolver;         // the generation that is answered; empty: nobody decides yet
  int64_t log_behind = 0;       // records of the index log that are not applied
  uint64_t ahead = 0;           // documents that are answered and not committed
  uint64_t ahead_most = 0;      // cluster.ahead
  uint64_t answered = 0;        // documents since the start
  uint64_t found = 0;           // of them: documents of which something is known here
  uint64_t answered_again = 0;  // single documents
};

}  // namespace doppel
