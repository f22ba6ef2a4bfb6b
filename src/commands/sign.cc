// doppel sign: runs only the expensive part of the detector. It reads documents and writes signed records.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/standard_streams.h"
#include "base/status.h"
#include "commands/commands.h"
#include "commands/progress.h"
#include "fetch/fetch_source.h"
#include "files/places.h"
#include "files/read/files_source.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "open/setup.h"
#include "signing/sign_kafka.h"
#include "signing/sign_stream.h"

namespace doppel {
namespace {

constexpr uint64_t kMessagesShown = 20;

struct SignFlags {
  std::vector<std::string> paths;
  std::string output = "-", topic, config_file, from;
  bool quiet = false;
};

class Messages {
 public:
  explicit Messages(bool quiet) : quiet_(quiet) {}
  void say(const std::string& message) {
    if (count_++ >= kMessagesShown || quiet_) return;
    print_err("doppel sign: {}\n", message);
    if (count_ == kMessagesShown) print_err("doppel sign: further messages of this kind are only counted\n");
  }

 private:
  bool quiet_;
  uint64_t count_ = 0;
};

void print_summary(const SignCounters& c, double seconds) {
  print_err("{} signed, {} in {} ({}/s, {:.1f} MB/s); {} written\n", counted(c.records, "record"),
            human_bytes(c.bytes), human_seconds(seconds),
            with_commas(static_cast<uint64_t>(static_cast<double>(c.records) / std::max(seconds, 1e-9))),
            static_cast<double>(c.bytes) / 1e6 / std::max(seconds, 1e-9), human_bytes(c.signed_bytes));
  if (c.rejected != 0) {
    print_err("  {} of them rejected: readers of the signed records reject them, too\n",
              with_commas(c.rejected));
  }
  if (c.problems != 0) print_err("  {} could not be read as a whole\n", counted(c.problems, "input"));
}

absl::Status check_places(const Options& o, const SignFlags& flags) {
  if (flags.output.ends_with(".parquet")) {
    return invalid(fmt::format(
        "--output: {}: doppel writes a file of signed records, not Parquet; name it .signed, or use "
        "Python's doppel_dedup.sign_records or doppel_dedup.spark.sign",
        flags.output));
  }
  const std::vector<NamedPath> outputs{{"--output", flags.output}};
  std::vector<NamedPath> inputs{{"--config", flags.config_file}, {"hash_key_file", o.hash_key_file}};
  for (const std::string& path : flags.paths) inputs.push_back({"input", path});
  for (const std::string& path : o.warc_cdxj) inputs.push_back({"warc.cdxj", path});
  return check_outputs(outputs, inputs);
}

absl::StatusOr<std::unique_ptr<Source>> open_files(const Options& o, const SignFlags& flags) {
  FilesSourceOptions from{.paths = flags.paths};
  from.columns = o.input;
  from.batch_records = static_cast<size_t>(o.batch_documents);
  from.batch_bytes = o.batch_bytes;
  from.outputs = {{"--output", flags.output}};
  if (!o.state_directory.empty()) from.output_directories.push_back(o.state_directory);
  from.stop = stop_asked;
  return open_files_source(from, "");
}

absl::StatusOr<int> hand_on_index(const Options& o, const EngineOptions& engine, const SignFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const SignCounters counters, sign_index({.options = o,
                                                            .engine = engine,
                                                            .directory = flags.from,
                                                            .output = flags.output,
                                                            .stop = stop_asked}));
  if (stop_asked()) {
    print_err("doppel sign: interrupted; not every original is signed\n");
    return kExitInterrupted;
  }
  if (!flags.quiet) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    print_err(
        "{} as signed records in {} ({}/s); {} written\n", counted(counters.records, "original"),
        human_seconds(seconds),
        with_commas(static_cast<uint64_t>(static_cast<double>(counters.records) / std::max(seconds, 1e-9))),
        human_bytes(counters.signed_bytes));
  }
  return kExitDone;
}

// Opens the parts of a run and runs it.
absl::StatusOr<int> sign(const Options& o, const SignFlags& flags) {
  RETURN_IF_ERROR(check_places(o, flags));
  const bool from_topics = flags.paths.empty() && flags.from.empty();
  std::string note;
  ASSIGN_OR_RETURN(const HashKey key, choose_hash_key(o, note));
  if (!note.empty() && !flags.quiet) print_err("doppel sign: {}\n", note);
  ASSIGN_OR_RETURN(const EngineOptions engine, engine_options(o, key));
  if (!flags.from.empty()) return hand_on_index(o, engine, flags);

  std::unique_ptr<kafka::Cluster> cluster;
  if (from_topics || !flags.topic.empty()) {
    ASSIGN_OR_RETURN(cluster, connect_to_sign(o, stop_asked));
  }
  Messages messages(flags.quiet);
  const auto report = [&](const std::string& message) { messages.say(message); };
  const auto start = std::chrono::steady_clock::now();
  const auto summary = [&](const SignCounters& counters) {
    if (!flags.quiet)
      print_summary(counters,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  if (from_topics && !flags.topic.empty()) {
    ASSIGN_OR_RETURN(const SignCounters counters, sign_topics({.options = o,
                                                               .cluster = *cluster,
                                                               .topic = flags.topic,
                                                               .engine = engine,
                                                               .stop = stop_asked,
                                                               .report = report}));
    summary(counters);
    return kExitDone;
  }
  std::unique_ptr<SignedOutput> output;
  if (!flags.topic.empty()) {
    ASSIGN_OR_RETURN(output,
                     signed_topic_output(o, *cluster, flags.topic, engine.scheme.describe(), stop_asked));
  } else {
    const std::string pages = describe_pages(o.input);
    ASSIGN_OR_RETURN(output, signed_file_output(flags.output, {.scheme = engine.scheme.describe() + pages,
                                                               .text = engine.scheme.text + pages,
                                                               .format = o.input.format}));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source,
                   from_topics ? topics_to_sign(o, *cluster, stop_asked) : open_files(o, flags));
  const std::unique_ptr<SchemaSource> schemas = schemas_from(*source, o);
  Source& input = outer_of(*source, schemas.get());
  std::unique_ptr<FetchSource> fetching;
  if (const FetchOptions fetch = fetch_options(o, stop_asked); fetches(fetch)) {
    ASSIGN_OR_RETURN(fetching, make_fetch_source(input, fetch));
  }
  SignStream stream{.source = outer_of(input, fetching.get()),
                    .output = *output,
                    .scheme = engine.scheme,
                    .with_sets = engine.with_sets(),
                    .format = o.input,
                    .threads = thread_count(o),
                    .begins = {},
                    .stop = stop_asked,
                    .report = report};
  ASSIGN_OR_RETURN(const SignCounters counters, sign_stream(stream));
  if (stop_asked() && !from_topics) {
    print_err("doppel sign: interrupted; not everything is signed{}\n",
              flags.output == "-" || !flags.topic.empty() ? "" : ", and nothing was written");
    return kExitInterrupted;
  }
  RETURN_IF_ERROR(output->finish());
  summary(counters);
  if (from_topics) return kExitDone;
  return counters.rejected + counters.problems != 0 ? kExitSomeFailed : kExitDone;
}

int exit_code(const absl::Status& status) {
  if (absl::IsCancelled(status)) return kExitDone;  // stopped while waiting for Kafka
  if (absl::IsAborted(status)) return kExitReplaced;
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kExitUsage : kExitStopped;
}

}  // namespace

int sign_main(int argc, char** argv) {
  catch_stop_signals(kExitInterrupted);
  CLI::App app(
      "Makes signed records of documents: what the index needs of each, about 1 KB, without its text.\n\n"
      "Reads what doppel scan reads, Parquet too. scan, serve, rebuild and tune read signed records where "
      "input.format "
      "is\n"
      "signed, skip the expensive part, and decide the same, byte for byte. So any number of machines can "
      "sign,\n"
      "and one decides. All of them need the same hash key and the same settings of signatures.\n\n"
      "Examples:\n"
      "  doppel sign crawl.jsonl.gz -o crawl.signed.zst\n"
      "  doppel scan --format signed crawl.signed.zst > duplicates.jsonl\n"
      "  doppel sign --format html pages/ | doppel scan --format signed --set input.signed_format=html -\n"
      "  doppel sign --config doppel.yaml --to documents-signed",
      "doppel sign");
  SignFlags flags;
  CommonFlags common;
  app.add_option(
      "PATH", flags.paths,
      "files, directories, or - for stdin; none: kafka.topics where kafka.brokers is set, else stdin");
  auto* file =
      app.add_option("-o,--output", flags.output, "the file to be written (.gz, .zst: packed); - is stdout")
          ->capture_default_str();
  app.add_option("--to", flags.topic,
                 "write to this Kafka topic with one partition (kafka.brokers) in place of a file")
      ->excludes(file)
      ->type_name("TOPIC");
  app.add_option("--from", flags.from,
                 "in place of documents: the originals of the index in this state directory, in their order; "
                 "scan --state A takes them, and A has what both had")
      ->excludes("--to")
      ->type_name("DIRECTORY");
  add_setting_flag(app, common, "--state", "state.directory");
  add_reading_flags(app, common);
  app.add_flag("-q,--quiet", flags.quiet, "no messages, no summary");
  add_common_flags(app, common);
  app.footer(
      "Of --state only the hash key is used, and made if it has none. From topics it signs until SIGTERM. "
      "Any\n"
      "number of signers with the same --to share the partitions of these topics, and each document is "
      "signed\n"
      "once.\n"
      "Exit codes: 0 done; 1 done, but some records were rejected or inputs could not be read; 2 wrong usage "
      "or\n"
      "configuration; 3 stopped by an error; 75 another doppel sign writes these files to the topic; 130\n"
      "interrupted: nothing is there under the name of the output.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (!flags.from.empty()) {
    if (!flags.paths.empty()) return fail("sign", "--from: not with other inputs", kExitUsage);
    const auto settings = settings_of_index(flags.from);
    if (settings.empty())
      return fail("sign", "--from: " + flags.from + ": there is no index in it", kExitUsage);
    common.sets.insert(common.sets.end(), settings.begin(), settings.end());
    common.sets.emplace_back("state.directory", flags.from);
  }
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("sign", config.status(), kExitUsage);
  const Options& o = config->options;
  if (flags.paths.empty() && flags.from.empty() && (o.kafka.brokers.empty() || o.kafka.topics.empty()))
    flags.paths.emplace_back("-");
  flags.config_file = common.config_file;
  if (absl::Status status = check_format_of_texts(o.input); !status.ok())
    return fail("sign", status, kExitUsage);
  const absl::StatusOr<int> code = sign(o, flags);
  return code.ok() ? *code : fail("sign", code.status(), exit_code(code.status()));
}

}  // namespace doppel
