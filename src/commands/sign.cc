// doppel sign: the expensive part of the detector alone. Documents in, signed records out.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/progress.h"
#include "commands/say.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "serve/setup.h"
#include "serve/sign_kafka.h"
#include "serve/sign_stream.h"
#include "stream/files/files_source.h"
#include "stream/files/listing.h"
#include "stream/files/places.h"

namespace doppel {
namespace {

constexpr uint64_t kMessagesShown = 20;

struct SignFlags {
  std::vector<std::string> paths;
  std::string output = "-", topic, config_file;
  bool quiet = false;
};

volatile std::sig_atomic_t g_stop = 0;
void on_signal(int) { g_stop = 1; }

class Messages {
 public:
  explicit Messages(bool quiet) : quiet_(quiet) {}
  void say(const std::string& message) {
    if (count_++ >= kMessagesShown || quiet_) return;
    print_err("doppel sign: {}\n", message);
    if (count_ == kMessagesShown) print_err("doppel sign: further ones are only counted\n");
  }

 private:
  bool quiet_;
  uint64_t count_ = 0;
};

void print_summary(const SignCounters& c, double seconds) {
  print_err("{} records signed, {} in {} ({}/s, {:.1f} MB/s); {} written\n", with_commas(c.records),
            human_bytes(c.bytes), human_seconds(seconds),
            with_commas(static_cast<uint64_t>(static_cast<double>(c.records) / std::max(seconds, 1e-9))),
            static_cast<double>(c.bytes) / 1e6 / std::max(seconds, 1e-9), human_bytes(c.signed_bytes));
  if (c.rejected != 0) {
    print_err("  {} of them rejected: readers of the signed records reject them, too\n",
              with_commas(c.rejected));
  }
  if (c.problems != 0) print_err("  {} inputs could not be read as a whole\n", with_commas(c.problems));
}

bool stopped() { return g_stop != 0; }

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
  from.charsets = o.input.format == "html";
  from.batch_records = static_cast<size_t>(o.batch_documents);
  from.batch_bytes = o.batch_bytes;
  from.outputs = {{"--output", flags.output}};
  if (!o.state_directory.empty()) from.output_directories.push_back(o.state_directory);
  from.stop = stopped;
  return open_files_source(from, "");
}

// The parts of a run, and the run.
absl::StatusOr<int> sign(Options o, const SignFlags& flags) {
  RETURN_IF_ERROR(check_places(o, flags));
  const bool from_topics = flags.paths.empty();
  if (!from_topics) {
    ASSIGN_OR_RETURN(const Listing listing, list_files({.paths = flags.paths}));
    o.input.warc_files = std::any_of(listing.files.begin(), listing.files.end(),
                                     [](const InputFile& file) { return file.warc; });
  }
  std::string note;
  ASSIGN_OR_RETURN(const HashKey key, choose_hash_key(o, note));
  if (!note.empty() && !flags.quiet) print_err("doppel sign: {}\n", note);
  ASSIGN_OR_RETURN(const EngineOptions engine, engine_options(o, key));

  std::unique_ptr<kafka::Cluster> cluster;
  if (from_topics || !flags.topic.empty()) {
    ASSIGN_OR_RETURN(cluster, connect_to_sign(o, stopped));
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
                                                               .stop = stopped,
                                                               .report = report}));
    summary(counters);
    return kExitDone;
  }
  std::unique_ptr<SignedOutput> output;
  if (!flags.topic.empty()) {
    ASSIGN_OR_RETURN(output, signed_topic_output(o, *cluster, flags.topic,
                                                 scheme_of_records(engine.scheme).describe(), stopped));
  } else {
    ASSIGN_OR_RETURN(output, signed_file_output(flags.output, {.scheme = engine.scheme.describe(),
                                                               .text = engine.scheme.text,
                                                               .format = o.input.format}));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source,
                   from_topics ? topics_to_sign(o, *cluster, stopped) : open_files(o, flags));
  std::unique_ptr<FetchSource> fetching;
  if (const FetchOptions fetch = fetch_options(o, stopped); fetches(fetch)) {
    ASSIGN_OR_RETURN(fetching, make_fetch_source(*source, fetch));
  }
  SignStream stream{.source = fetching != nullptr ? static_cast<Source&>(*fetching) : *source,
                    .output = *output,
                    .scheme = engine.scheme,
                    .with_sets = engine.with_sets(),
                    .format = o.input,
                    .threads = thread_count(o),
                    .begins = {},
                    .stop = stopped,
                    .report = report};
  ASSIGN_OR_RETURN(const SignCounters counters, sign_stream(stream));
  if (stopped() && !from_topics) {
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
  if (absl::IsCancelled(status)) return kExitDone;  // stopped while Kafka was waited for
  if (absl::IsAborted(status)) return kExitReplaced;
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kExitUsage : kExitStopped;
}

}  // namespace

int sign_main(int argc, char** argv) {
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
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("sign", config.status(), kExitUsage);
  const Options& o = config->options;
  if (flags.paths.empty() && (o.kafka.brokers.empty() || o.kafka.topics.empty()))
    flags.paths.emplace_back("-");
  flags.config_file = common.config_file;
  if (absl::Status status = check_format_of_texts(o.input); !status.ok())
    return fail("sign", status, kExitUsage);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // comes back as an error of write()
  const absl::StatusOr<int> code = sign(o, flags);
  return code.ok() ? *code : fail("sign", code.status(), exit_code(code.status()));
}

}  // namespace doppel
