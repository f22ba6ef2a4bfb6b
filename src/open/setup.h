#pragma once
// Turns settings into the parts that they describe, and these into the pipeline of every command that judges
// documents.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "config/options.h"
#include "engine/engine.h"
#include "files/read/files_source.h"
#include "files/write/files_sink.h"
#include "pipeline/pipeline.h"
#include "session/session.h"
#include "text/hash_key.h"

namespace doppel {

// The configured key (DOPPEL_HASH_KEY, hash_key_file), or else the key of the state directory. If the
// directory has none, it gets the key of the first index of `against`, or a random one, and `note` says so.
// Without a state directory: the key of `against`, or a fixed, public one, so that runs can be repeated.
absl::StatusOr<HashKey> choose_hash_key(const Options& options, std::string& note);

// Like choose_hash_key(), for commands that only read: creates no key if there is none.
absl::StatusOr<HashKey> hash_key_to_look_with(Options options);

absl::StatusOr<EngineOptions> engine_options(const Options& options, const HashKey& key);

// What the settings say about a state directory. Scheme and rule are the caller's.
StateOptions state_options(const Options& options);

// The session that the settings describe, with this engine (see engine_options()).
SessionOptions session_options(const Options& options, EngineOptions engine);
// Opens it. Logs if the index keeps other bands than those that were chosen.
absl::StatusOr<std::unique_ptr<Session>> open_session(SessionOptions options);

// Takes the bands from `stored`, the description of an index's rule (empty: it is new), because an index
// keeps the bands that it was made with. Logs the change.
void keep_banding(Rule& rule, std::string_view stored);

// How the settings say to read these files. `keep` is the file that gets the unique records, or empty: large
// records are stored temporarily beside it, where the disk has room for them.
FilesSourceOptions files_source_options(const Options& options, std::vector<std::string> paths,
                                        const Scheme& scheme, const std::string& keep);

// Sets the format that signed records had before they were signed, from the first of these files that has a
// header. Changes nothing if there is none.
absl::Status learn_signed_format(const std::vector<std::string>& paths, FormatOptions& input);

// The number of threads; 0 in the options means all processors.
int thread_count(const Options& options);

// The settings that an index was made with, in the form of doppel.yaml, so that its user need not repeat
// them.

// Key and value of each setting that the state directory records; empty if there is no index yet.
std::vector<std::pair<std::string, std::string>> settings_of_index(const std::string& directory);

// Loads the configuration of `inputs`. Takes settings that it leaves out from the index in the state
// directory. FailedPrecondition: a setting differs from the index; the message names each, with both values.
absl::StatusOr<Config> load_config_of_index(const ConfigInputs& inputs);

// Assembles the pipeline of every command that judges documents: what the settings say about its stages. The
// caller adds what only it has: requests, metrics, progress.

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
