#pragma once
// Every setting of doppel, typed, with its default. The names are those of the configuration file:
// a key "a.b" there is the member a.b here.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/decoder.h"

namespace doppel {

struct Options {
  // The rule: which documents are copies.
  double threshold = 0.8;
  double recall = 0.995;         // wished probability that a pair at the threshold meets in a band
  std::string verify = "exact";  // exact | signature
  int bands = 0;                 // 0: chosen from threshold and recall
  int rows = 0;
  int max_listed = 256;
  int max_checks = 64;
  std::string expire_after;     // a duration in record time ("30d", "12h"); empty: never
  int64_t expire_after_ms = 0;  // the same, parsed

  // The data scheme: what signatures depend on.
  int num_perm = 128;
  std::string sketch = "fast";  // fast | classic
  int shingle_words = 5;
  uint64_t max_record = 1'000'000;  // bytes of a representative's body; a larger set is left out
  std::string hash_key_file;        // 32 hex digits; also DOPPEL_HASH_KEY

  FormatOptions input;  // input.format, input.id, input.text, input.url, input.date, input.scope

  int threads = 0;  // 0: one per processor
  int shards = 1;
  int batch_documents = 256;
  uint64_t batch_bytes = 8 << 20;

  std::string state_directory;                // state.directory
  std::string fsync = "checkpoint";           // state.fsync: none | checkpoint | commit
  uint64_t checkpoint_documents = 1'000'000;  // state.checkpoint_documents
  std::string temporary_directory;            // for runs without a state directory

  std::string log_format = "text";  // log.format: text | json
  std::string log_level = "info";   // log.level: debug | info | warn | error
};

}  // namespace doppel
