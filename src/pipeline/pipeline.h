#pragma once
// The data path: records of a Source pass through SIGN, MATCH and RESOLVE to a Sink, batch by batch, with
// one commit per batch. run_pipeline() names all stages in order, so start reading the program there.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "pipeline/better_copies.h"
#include "pipeline/read_ahead.h"
#include "pipeline/sign_record.h"
#include "pipeline/stream.h"
#include "session/same_document.h"

namespace doppel {

// The decisions about the records of one batch, for a Sink; valid until the batch is settled.
struct Decided {
  const Batch& batch;
  const Work& work;  // documents[i] and outcomes[i] belong to records[i]
};

class Sink {
 public:
  virtual ~Sink() = default;
  // Takes the results of a batch. On return, files have them written; on Kafka, a transaction has begun.
  virtual absl::Status write(const Decided& decided) = 0;
  // Returns when the results of write() are durable. Called once after each write(), before the next one.
  virtual absl::Status settle() { return absl::OkStatus(); }
  // Called from time to time while there is nothing to write.
  virtual absl::Status idle() { return absl::OkStatus(); }
  // The position of the outputs, for the commit; called after settle().
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
  uint64_t again = 0;  // of unique: the index had the document already
  uint64_t bytes_unique = 0,
           bytes_copies = 0;  // of unique and exact: records without text, compared by payload
  uint64_t pages = 0;         // judged by the text of a page
  std::map<std::string, uint64_t> guessed_charsets;  // of judged texts, by charset
  uint64_t too_large = 0;  // of unique and duplicates: records whose text was too large
  RelationCounts related;
  uint64_t partial = 0;  // documents that are duplicates because they are contained
  uint64_t listings_capped = 0, prints_capped = 0;
  std::map<std::string, uint64_t> skipped_by, unscored_by;  // by reason
  MatchCounters match;
  uint64_t duplicates() const { return exact + near + partial; }
};

// The answers of other processes, if they have the originals (EngineOptions::elsewhere).
class AnswerSource {
 public:
  virtual ~AnswerSource() = default;
  // Waits until the owner of each original has answered for all documents of the batch. Sets work.answers,
  // owners and covered.
  virtual absl::Status answer(const Batch& batch, Work& work) = 0;
  // Asks the same owners again about a document of the batch, as if the originals in `deaths` were dead.
  // `hint`: see RelateHint.
  virtual absl::Status answer_again(const Batch& batch, size_t i, const Deaths& deaths,
                                    const RelateHint& hint, Work& work) = 0;
};

// How long each stage occupied the loop of the pipeline.
struct BatchTimes {
  using Duration = std::chrono::steady_clock::duration;
  Duration read{}, sign{}, match{}, resolve{}, write{}, settle{}, commit{};
};

struct Pipeline {
  Source& source;
  Engine& engine;
  Sink& sink;
  Journal* journal = nullptr;             // nullptr: nothing is stored
  AnswerSource* answer_source = nullptr;  // nullptr: the engine's own index answers
  FormatOptions format;
  // Makes one decoder per thread, if records are not bytes in a format. If empty, `format` determines the
  // decoder.
  std::function<std::unique_ptr<Decoder>()> decoder;
  KeyPolicy keys = {};
  // Recognises documents that come a second time; nullptr: they are copies.
  SameDocuments* same_documents = nullptr;
  // Finds better copies for the sink to announce; nullopt: it announces none.
  std::optional<BetterCopies> better = std::nullopt;
  int threads = 1;
  Waker* waker = nullptr;  // see ReadAhead
  // Called between batches; true ends the run cleanly.
  std::function<bool()> stop = [] { return false; };
  // Called before each batch with records is resolved. It may make documents `skipped` that need no verdict.
  // May be empty.
  std::function<absl::Status(const Batch&, Work&)> recall;
  // Called before each batch is resolved, and from time to time while no batch arrives. It may add requests
  // from outside the stream (Work::forget). Returns true if the batch must run even without documents.
  std::function<bool(Work&)> requests = [](Work&) { return false; };
  // Called once, before the results of the first batch with a WARC record are written. May be empty.
  std::function<absl::Status()> before_pages;
  // Reads a record that was not read because its payload was known (Record::payload_known), after its
  // original was removed. `memory` keeps the bytes. Empty: all records are read at once.
  std::function<absl::Status(Record&, std::vector<std::shared_ptr<const void>>& memory)> read_now;
  // Called with each settled batch, while its records exist.
  std::function<void(const Decided&, const BatchTimes&)> observe = [](const Decided&, const BatchTimes&) {};
  // Called after each settled batch, and from time to time while none settles.
  std::function<void(const Counters&)> progress = [](const Counters&) {};
};

// Returns when the source ends, stop() returns true, or an error must end the run.
absl::StatusOr<Counters> run_pipeline(Pipeline& pipeline);

}  // namespace doppel
