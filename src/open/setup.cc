#include "open/setup.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/executor.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/status.h"
#include "base/strings.h"
#include "config/values.h"
#include "engine/settings.h"
#include "files/read/signed_reader.h"
#include "files/write/outputs.h"
#include "fmt/format.h"
#include "pipeline/sign_record.h"
#include "records/metadata.h"
#include "state/restore.h"
#include "state/scheme.h"
#include "state/state_dir.h"
#include "state/state_view.h"

namespace doppel {
namespace {

absl::StatusOr<HashKey> key_from(std::string_view hex, const std::string& origin) {
  absl::StatusOr<HashKey> key = parse_hash_key(hex);
  if (!key.ok()) return invalid(fmt::format("{}: {}", origin, std_sv(key.status().message())));
  return key;
}

}  // namespace

absl::StatusOr<HashKey> choose_hash_key(const Options& options, std::string& note) {
  if (const char* hex = std::getenv("DOPPEL_HASH_KEY")) return key_from(hex, "DOPPEL_HASH_KEY");
  if (!options.hash_key_file.empty()) {
    std::ifstream file(options.hash_key_file);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) return invalid("hash_key_file: cannot read " + options.hash_key_file);
    return key_from(text.view(), "hash_key_file " + options.hash_key_file);
  }
  ASSIGN_OR_RETURN(const std::optional<HashKey> against, Against::hash_key(options.against));
  if (options.state_directory.empty()) return against.value_or(kPublicHashKey);
  bool made = false;
  absl::StatusOr<HashKey> key = hash_key_of(options.state_directory, &made, against);
  if (made && against) {
    note = fmt::format("took the hash key of {} into {}/hash.key", options.against.front(),
                       options.state_directory);
  } else if (made) {
    note = fmt::format(
        "created a new hash key in {}/hash.key; keep it, because signatures with different keys are not "
        "comparable",
        options.state_directory);
  }
  return key;
}

absl::StatusOr<HashKey> hash_key_to_look_with(Options options) {
  std::error_code none;
  if (!std::filesystem::exists(options.state_directory + "/hash.key", none)) options.state_directory.clear();
  std::string note;
  return choose_hash_key(options, note);
}

namespace {

std::string mebibytes(double bytes) { return fmt::format("{:.0f} MiB", bytes / (1 << 20)); }

// How many originals max_memory has room for, given the other buffers.
absl::StatusOr<uint64_t> documents_within(const Options& o, const EngineOptions& engine) {
  if (o.max_memory == 0) return 0;
  // Batches that are read, signed, matched and settled; records fetched ahead; the rest of the program.
  const uint64_t buffers =
      (96 << 20) + 6 * o.batch_bytes + (o.kafka.brokers.empty() ? 0 : o.kafka.fetch_queue);
  const BytesEach original_bytes = bytes_each({.num_perm = engine.scheme.num_perm,
                                               .banding = engine.rule.banding,
                                               .track_ids = engine.track_ids,
                                               .track_payloads = static_cast<bool>(engine.payload_of),
                                               .track_prints = engine.rule.relations.on(),
                                               .passage = engine.rule.relations.passage});
  const double room = static_cast<double>(o.max_memory) - static_cast<double>(buffers);
  constexpr double kLeast = 10'000;
  if (room < kLeast * original_bytes.sum()) {
    return invalid(
        fmt::format("max_memory: {} is not enough: buffers take {} (batch_bytes{}), and {:.0f} originals {}",
                    mebibytes(static_cast<double>(o.max_memory)), mebibytes(static_cast<double>(buffers)),
                    o.kafka.brokers.empty() ? "" : ", queued.max.messages.kbytes of kafka.properties", kLeast,
                    mebibytes(kLeast * original_bytes.sum())));
  }
  return static_cast<uint64_t>(
      std::min(room / original_bytes.sum(), static_cast<double>(limits::kMaxDocuments.most)));
}

// Checks that a limit of the address space (ulimit -v) leaves room for threads and documents. The index
// reserves its memory by the limit.
absl::Status check_address_space(const Options& o) {
  const std::optional<uint64_t> left = address_space_left();
  if (!left) return absl::OkStatus();
  constexpr uint64_t kAtLeast = 256 << 20;
  constexpr uint64_t kForThread = 72 << 20;  // its stack, and what the heap reserves for it
  const uint64_t needed =
      kAtLeast + 6 * o.batch_bytes + static_cast<uint64_t>(std::max(thread_count(o), 1)) * kForThread;
  if (*left >= needed) return absl::OkStatus();
  const uint64_t limit = address_space_limit().value_or(0);
  return absl::ResourceExhaustedError(
      fmt::format("the limit of the address space (ulimit -v) is {} KiB, and {} KiB are needed with {} "
                  "threads: raise it, "
                  "or set fewer threads",
                  limit / 1024, (limit - *left + needed) / 1024, thread_count(o)));
}

}  // namespace

absl::StatusOr<EngineOptions> engine_options(const Options& o, const HashKey& key) {
  RETURN_IF_ERROR(check_address_space(o));
  ASSIGN_OR_RETURN(EngineOptions out, engine_options_of(o, key));
  out.scheme.text = describe_format(o.input);
  out.track_ids = o.tombstones == Tombstones::key || out.rule.replace;
  const std::string& format = is_signed(o.input) ? o.input.signed_format : o.input.format;
  if (format == "heritrix" || format == "warc" || format == "auto") out.payload_of = payload_of_metadata;
  ASSIGN_OR_RETURN(const uint64_t documents, documents_within(o, out));
  set_room(out.rule, o.max_memory, documents, o.max_documents);
  out.shards = o.shards;
  return out;
}

namespace {

// Logs that `rule` has the bands of an index, not those that were chosen.
void log_kept_banding(const Rule& rule, Banding chosen) {
  const double meets = meeting_probability(rule.threshold_ppm / 1e6, rule.banding);
  log::info("the index keeps the bands that it was made with",
            {{"bands", rule.banding.bands},
             {"rows", rule.banding.rows},
             {"recall", fmt::format("{:.4f}", meets)},
             {"a_new_index_has", fmt::format("{} x {}", chosen.bands, chosen.rows)}});
}

}  // namespace

void keep_banding(Rule& rule, std::string_view stored) {
  const Banding chosen = rule.banding;
  if (take_banding(rule, stored)) log_kept_banding(rule, chosen);
}

StateOptions state_options(const Options& o) {
  return {.directory = o.state_directory,
          .num_perm = o.num_perm,
          .fsync = o.fsync,
          .checkpoint_documents = o.checkpoint_documents,
          .checkpoint_interval_ms = o.checkpoint_interval_ms};
}

SessionOptions session_options(const Options& o, EngineOptions engine) {
  return {.engine = std::move(engine),
          .state = state_options(o),
          .against = o.against,
          .memory = o.memory,
          .threads = o.threads};
}

absl::StatusOr<std::unique_ptr<Session>> open_session(SessionOptions options) {
  const Banding chosen = options.engine.rule.banding;
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::open(std::move(options)));
  const Rule& rule = session->engine().options().rule;
  if (rule.banding != chosen) log_kept_banding(rule, chosen);
  return session;
}

FilesSourceOptions files_source_options(const Options& o, std::vector<std::string> paths,
                                        const Scheme& scheme, const std::string& keep) {
  FilesSourceOptions out{.paths = std::move(paths)};
  out.batch_records = static_cast<size_t>(o.batch_documents);
  out.batch_bytes = o.batch_bytes;
  if (o.input.format == "heritrix") out.layout = Layout::lines;  // also for crawl.log
  if (is_signed(o.input)) {
    out.layout = Layout::signed_records;
    out.signed_scheme = scheme.describe() + describe_pages(o.input);
  }
  if (!keep.empty() && !keep.ends_with(".parquet")) {
    const std::filesystem::path parent = std::filesystem::path(keep == "-" ? "" : keep).parent_path();
    out.rest_directory = parent.empty() ? "." : parent.string();
  }
  return out;
}

absl::Status learn_signed_format(const std::vector<std::string>& paths, FormatOptions& input) {
  if (!is_signed(input)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<SignedFileHeader> header, first_signed_header(paths));
  if (!header) return absl::OkStatus();
  input.signed_format = header->format;
  input.signed_text = header->text;
  return absl::OkStatus();
}

int thread_count(const Options& options) { return all_if_zero(options.threads); }

namespace {

const Setting& setting(const Config& config, std::string_view key) {
  return *std::find_if(config.settings.begin(), config.settings.end(),
                       [&](const Setting& entry) { return entry.key == key; });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_of_index(const std::string& directory) {
  const Identity identity = stored_identity(directory);
  if (identity.rule.empty()) return {};
  const StoredSettings stored(identity.data_scheme + "\n" + identity.rule);
  std::vector<std::pair<std::string, std::string>> out;
  for (const IndexSetting& setting : index_settings()) {
    std::optional<std::string> text = stored.text(setting);
    if (!text) continue;
    if (setting.limit.unit == Limit::Unit::millisecond)
      text = *text == "0" ? "never" : write_duration(std::stoll(*text));
    out.emplace_back(setting.name(), *std::move(text));
  }
  return out;
}

absl::StatusOr<Config> load_config_of_index(const ConfigInputs& inputs) {
  ASSIGN_OR_RETURN(Config given, load_config(inputs));
  const auto stored = settings_of_index(given.options.state_directory);
  if (stored.empty()) return given;
  ConfigInputs with_stored = inputs;
  with_stored.sets.insert(with_stored.sets.end(), stored.begin(), stored.end());
  ASSIGN_OR_RETURN(Config config, load_config(with_stored));
  std::vector<std::string> differences;
  for (const auto& [key, value] : stored) {
    const Setting& was = setting(config, key);
    const Setting& now = setting(given, key);
    // Bands that are not given follow from threshold and recall.
    if (now.origin == "default" || now.value == was.value) continue;
    if ((key == "bands" || key == "rows") && now.value == "0") continue;
    differences.push_back(fmt::format("{}: the index was made with {}, now {}", key, was.value, now.value));
  }
  RETURN_IF_ERROR(refuse_differences(
      fmt::format("{} holds an index that was made with other settings; leave them out to use its own:",
                  given.options.state_directory),
      differences));
  return config;
}

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
    for (const std::string& text : found.notes) note(text);
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
