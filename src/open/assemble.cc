#include "open/assemble.h"

#include <optional>
#include <utility>

#include "files/write/outputs.h"
#include "open/setup.h"

namespace doppel {
namespace {

// Records in the index how pages in its input are read. Empty if there is nothing to record.
std::function<absl::Status()> scheme_of_pages(StateDir* state, const FormatOptions& format) {
  const std::string line = describe_pages(format);
  if (state == nullptr || line.empty()) return {};
  return [state, line] { return state->add_to_scheme(line); };
}

std::optional<BetterCopies> better_copies(const FormatOptions& format, StateDir* state, Seq first_own) {
  if (state == nullptr) return std::nullopt;
  const absl::StatusOr<Best> best = Best::parse(format.best);
  if (!best.ok()) return std::nullopt;
  return BetterCopies(*best, first_own,
                      [state, first_own](Seq seq) { return state->shown(seq - first_own); });
}

}  // namespace

Pipeline assemble(const Options& o, Engine& engine, StateDir* state, Source& source, Sink& sink) {
  return {.source = source,
          .engine = engine,
          .sink = sink,
          .format = o.input,
          .better = better_copies(o.input, state, engine.originals().first_own()),
          .threads = thread_count(o),
          .before_pages = scheme_of_pages(state, o.input)};
}

SessionOptions session_with_outputs(const Options& options, EngineOptions engine,
                                    const FilesSinkOptions& outputs, const std::unique_ptr<FilesSink>& sink,
                                    std::function<void(const std::string&)> note) {
  SessionOptions opening = session_options(options, std::move(engine));
  opening.supports = [&outputs](std::string_view position) { return outputs_support(outputs, position); };
  opening.state.sync_outputs = [&sink] { return sink != nullptr ? sink->sync() : absl::OkStatus(); };
  opening.check = [&outputs, note = std::move(note),
                   directory = options.state_directory](const Recovered& found) {
    for (const std::string& each : found.notes) note(each);
    return check_outputs_are_there(outputs, found.sink_position, directory);
  };
  return opening;
}

std::optional<Seq> SessionJournal::keep_from() const {
  return announced_ ? std::optional(announced_()) : std::nullopt;
}

absl::Status SessionJournal::commit(const Batch& batch, const Resolved& resolved, std::string sink_position) {
  // A batch that only carries out requests from outside has no position.
  const auto position = batch.position.empty() ? std::nullopt : std::optional(batch.position);
  return session_.commit(resolved, batch.records.size(), position, std::move(sink_position), keep_from());
}

absl::Status SessionJournal::commit_outputs(std::string sink_position) {
  return session_.commit_outputs(std::move(sink_position), keep_from());
}

}  // namespace doppel
