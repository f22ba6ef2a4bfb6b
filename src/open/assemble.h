#pragma once
// Assembles the pipeline of every command that judges documents: what the settings say about its stages. The
// caller adds what only it has: requests, metrics, progress.

#include <functional>
#include <memory>
#include <string>

#include "config/options.h"
#include "files/write/files_sink.h"
#include "pipeline/pipeline.h"
#include "session/session.h"

namespace doppel {

// The pipeline over an engine whose index is in `state` (nullptr: nowhere). All arguments outlive it.
Pipeline assemble(const Options& options, Engine& engine, StateDir* state, Source& source, Sink& sink);

// The options of a session whose verdicts go to these outputs. It opens at the last commit that the outputs
// support, and syncs the sink before each commit from the time when the sink is open. `note` gets what the
// opening has to say. `outputs` and `sink` outlive the session.
SessionOptions session_with_outputs(const Options& options, EngineOptions engine,
                                    const FilesSinkOptions& outputs, const std::unique_ptr<FilesSink>& sink,
                                    std::function<void(const std::string&)> note);

// Commits the batches of a pipeline to its session.
class SessionJournal final : public Journal {
 public:
  // Rows from announced() on are kept; without it, the live ones.
  explicit SessionJournal(Session& session, std::function<Seq()> announced = nullptr)
      : session_(session), announced_(std::move(announced)) {}
  absl::Status commit(const Batch& batch, const Resolved& resolved, std::string sink_position) override;
  // Commits only the lengths of the outputs. Only before the first batch.
  absl::Status commit_outputs(std::string sink_position);

 private:
  std::optional<Seq> keep_from() const;

  Session& session_;
  std::function<Seq()> announced_;
};

}  // namespace doppel
