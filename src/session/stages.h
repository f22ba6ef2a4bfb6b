#pragma once
// The stages of a batch on the threads of one caller: SIGN, MATCH and RESOLVE, or a query in place of
// RESOLVE. Everything that judges documents calls them. The callers differ in what a document is, and pass a
// function that signs it.

#include <functional>
#include <span>
#include <vector>

#include "base/executor.h"
#include "engine/engine.h"

namespace doppel {

class Stages {
 public:
  // Signs document i of the batch, with the tools of this worker (below threads()). `slices` has num_perm
  // bytes.
  using Sign = std::function<void(int worker, size_t i, SignedDocument& out, uint8_t* slices)>;

  // `engine` outlives the stages. threads: how many work, including the caller.
  Stages(const Engine& engine, int threads) : engine_(engine), executor_(threads) {}
  int threads() const { return executor_.threads(); }
  Executor& executor() { return executor_; }

  // SIGN. start_sign() returns at once; the batch may be used after wait_for_sign(). One batch at a time.
  void start_sign(Work& work, size_t documents, Sign sign);
  void wait_for_sign() { executor_.wait(signing_); }
  void sign(Work& work, size_t documents, Sign sign) {
    start_sign(work, documents, std::move(sign));
    wait_for_sign();
  }
  // MATCH. Adds to the counters.
  absl::Status match(Work& work, MatchCounters& counters);
  // RESOLVE, with what the caller has in `help`; inserts new originals on all threads. `engine` is the one
  // that was passed to the constructor.
  absl::Status resolve(Engine& engine, Work& work, ResolveHelp help = {});
  // Does parts of the work on all threads, for the engine.
  CandidateIndex::Run run_parts();
  // Sets out[i] to the judgement of document i against the index as it is. Keeps nothing. Not while a batch
  // is resolved.
  absl::Status query(Work& work, std::span<Outcome> out);
  // Sets out[i] to the originals that are most similar to document i, at most `most` of them: the best one
  // first, then the earliest. They share a band with the document, so those below the threshold are found by
  // chance. Keeps nothing. Not while a batch is resolved.
  absl::Status nearest(Work& work, size_t most, std::span<std::vector<Verified>> out);

 private:
  const Engine& engine_;
  Executor executor_;
  Executor::Job signing_;
};

}  // namespace doppel
