#pragma once
// The data path: records of a Source through SIGN, MATCH and RESOLVE to a Sink, batch by batch, and one
// commit per batch. run_pipeline() names all stages in order; it is the map of the program.

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "formats/decoder.h"
#include "stream/executor.h"
#include "stream/stream.h"

namespace doppel {

// What was decided about the records of one batch, for a Sink. All of it is valid during the call.
struct Decided {
  const Batch& batch;
  const Work& work;  // documents[i] and outcomes[i] belong to records[i]
};

class Sink {
 public:
  virtual ~Sink() = default;
  // Writes the events of a batch and flushes them.
  virtual absl::Status write(const Decided& decided) = 0;
  // How far the outputs are, for the commit.
  virtual std::string position() const = 0;
};

// Makes a batch durable: input position, output position and index together.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual absl::Status commit(const Batch& batch, const Resolved& resolved, std::string sink_position) = 0;
};

struct Counters {
  uint64_t records = 0, bytes = 0, duplicate_bytes = 0;
  uint64_t unique = 0, exact = 0, near = 0, unscored = 0, rejected = 0, problems = 0;
  uint64_t listings_capped = 0;
  MatchCounters match;
  uint64_t duplicates() const { return exact + near; }
};

struct Pipeline {
  Source& source;
  Engine& engine;
  Sink& sink;
  Journal* journal = nullptr;  // nullptr: nothing is kept
  FormatOptions format;
  int threads = 1;
  // Asked between batches: true ends the run cleanly.
  std::function<bool()> stop = [] { return false; };
  // Told after each batch.
  std::function<void(const Counters&)> progress = [](const Counters&) {};
};

// Returns when the source ends, stop() says so, or something fails that must stop the run.
absl::StatusOr<Counters> run_pipeline(Pipeline& pipeline);

}  // namespace doppel
