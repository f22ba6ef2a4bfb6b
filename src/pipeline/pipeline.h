#pragma once
// The data path: records of a Source through SIGN, MATCH and RESOLVE to a Sink, batch by batch, and one
// commit per batch. run_pipeline() names all stages in order; it is the map of the program.

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "engine/engine.h"
#include "pipeline/known_again.h"
#include "pipeline/sign_record.h"
#include "pipeline/stream.h"

namespace doppel {

// What was decided about the records of one batch, for a Sink. All of it is valid until the batch is
// settled.
struct Decided {
  const Batch& batch;
  const Work& work;  // documents[i] and outcomes[i] belong to records[i]
};

class Sink {
 public:
  virtual ~Sink() = default;
  // Takes the events of a batch: files have them written when it returns, a transaction has begun.
  virtual absl::Status write(const Decided& decided) = 0;
  // Returns when it is certain that what write() took stays. Called once after each write(), before the next.
  virtual absl::Status settle() { return absl::OkStatus(); }
  // Called now and then while there is nothing to write.
  virtual absl::Status idle() { return absl::OkStatus(); }
  // How far the outputs are, for the commit; asked after settle().
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
  uint64_t unique = 0, exact = 0, near = 0, unscored = 0, rejected = 0, skipped = 0, removals = 0,
           problems = 0;
  uint64_t again = 0;                           // of unique: known before
  uint64_t bytes_unique = 0, bytes_copies = 0;  // of unique and exact: records without text, by payload
  uint64_t too_large = 0;                       // of both: records whose text was too large to be held
  // By the strongest relation of a document; duplicates because they are contained are not among them.
  uint64_t contained = 0, contains = 0, shares = 0;
  uint64_t partial = 0;  // duplicates because they are contained
  uint64_t listings_capped = 0, prints_capped = 0;
  std::map<std::string, uint64_t> skipped_by;  // by reason
  MatchCounters match;
  uint64_t duplicates() const { return exact + near + partial; }
};

// What other processes answer, where the originals are theirs (EngineOptions::elsewhere).
class Answering {
 public:
  virtual ~Answering() = default;
  // Waits until every original's owner has answered every document of the batch. Fills work.answers, owners
  // and covered.
  virtual absl::Status answer(const Batch& batch, Work& work) = 0;
  // Renews the answers to a document of the batch, by the same owners, as if these were dead.
  virtual absl::Status answer_again(const Batch& batch, size_t i, const Deaths& deaths, Work& work) = 0;
};

// How long each stage kept the loop of a batch.
struct BatchTimes {
  using Duration = std::chrono::steady_clock::duration;
  Duration read{}, sign{}, match{}, resolve{}, write{}, settle{}, commit{};
};

struct Pipeline {
  Source& source;
  Engine& engine;
  Sink& sink;
  Journal* journal = nullptr;      // nullptr: nothing is kept
  Answering* answering = nullptr;  // nullptr: the engine's own index answers
  FormatOptions format;
  // Makes a decoder for each thread, where records are not bytes of a format. Empty: those of `format`.
  std::function<std::unique_ptr<Decoder>()> decoder;
  KeyPolicy keys = {};
  // Knows documents that were given before; nullptr: what comes again is a copy.
  KnownAgain* known_again = nullptr;
  int threads = 1;
  // Asked between batches: true ends the run cleanly.
  std::function<bool()> stop = [] { return false; };
  // Called before each batch is resolved, and while there is none. It may add requests from outside the
  // stream (Work::forget). True: the batch must run, also without documents.
  std::function<bool(Work&)> requests = [](Work&) { return false; };
  // Called once, before anything is written of the first batch with a record of a WARC file. Empty: nothing.
  std::function<absl::Status()> before_warc;
  // Reads a record that was not read because its payload was known (Record::payload_known): its original was
  // removed since. `memory` owns the bytes. Empty: every record is read at once.
  std::function<absl::Status(Record&, std::vector<std::shared_ptr<const void>>& memory)> read_now;
  // Called with each settled batch, before its records go away.
  std::function<void(const Decided&, const BatchTimes&)> observe = [](const Decided&, const BatchTimes&) {};
  // Called after each settled batch, and from time to time while there is none.
  std::function<void(const Counters&)> progress = [](const Counters&) {};
};

// Returns when the source ends, stop() says so, or something fails that must stop the run.
absl::StatusOr<Counters> run_pipeline(Pipeline& pipeline);

}  // namespace doppel
