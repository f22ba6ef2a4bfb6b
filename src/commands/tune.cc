// doppel tune: shows what a threshold and a recall mean for bands, memory and work, and measures it on the
// user's own documents.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "commands/commands.h"
#include "commands/tune_report.h"
#include "config/values.h"
#include "files/output_file.h"
#include "files/places.h"
#include "files/read/files_source.h"
#include "files/read/listing.h"
#include "fmt/format.h"
#include "formats/decoder.h"
#include "formats/record.h"
#include "insight/plots.h"
#include "insight/show.h"
#include "open/setup.h"
#include "pipeline/sign_record.h"
#include "records/metadata.h"

namespace doppel {
namespace {

// Reads the first documents of the user's input and measures them.
struct TuneSampleOptions {
  std::vector<std::string> paths;
  uint64_t documents = 20'000;
  FormatOptions format;
  std::vector<NamedPath> outputs;  // outputs, which are not read if they are in an input directory
};

constexpr size_t kMessagesShown = 5;

// A progress line on the terminal, after the first two seconds.
class Waiting {
 public:
  ~Waiting() { clear(); }
  void show(std::string_view what, uint64_t done, uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - start_ < std::chrono::seconds(2) ||
        now - last_ < std::chrono::milliseconds(100)) {
      return;
    }
    last_ = now;
    on_screen_ = true;
    print_err("\r\x1b[K{} {} of {}", what, with_commas(done), with_commas(total));
  }
  void clear() {
    if (on_screen_) print_err("\r\x1b[K");
    on_screen_ = false;
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool on_screen_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_;
};

absl::StatusOr<TuneSample> measure_sample(const TuneSampleOptions& options, const EngineOptions& engine) {
  RETURN_IF_ERROR(check_format(options.format));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Source> source,
      open_files_source({.paths = options.paths,
                         .layout = is_signed(options.format) ? Layout::signed_records : Layout::automatic,
                         .columns = options.format,
                         .signed_scheme = engine.scheme.describe() + describe_pages(options.format),
                         .outputs = options.outputs},
                        ""));
  const bool is_signed_already = is_signed(options.format);
  std::unique_ptr<Decoder> decoder = is_signed_already ? nullptr : make_decoder(options.format);
  RecordSigner signer(engine.scheme, engine.with_sets(), options.format, {});
  SignedDocument signed_document;
  std::vector<uint8_t> slices(static_cast<size_t>(engine.scheme.num_perm));
  SampleStudy study(engine);
  std::optional<SampleRelations> relations;
  SampleKindCounter kind;
  if (!is_signed_already) relations.emplace(engine);
  Waiting waiting;
  TuneSample sample;
  sample.name = options.paths.size() == 1
                    ? options.paths.front()
                    : fmt::format("{} and {} more", options.paths.front(), options.paths.size() - 1);
  auto problem = [&](const std::string& message) {
    ++sample.rejected;
    if (sample.messages.size() < kMessagesShown) sample.messages.push_back(message);
  };
  Batch batch;
  std::string metadata;
  std::string large;
  while (sample.whole) {
    ASSIGN_OR_RETURN(bool more, source->next(batch));
    if (!more) break;
    for (const Problem& p : batch.problems) problem(p.message);
    for (const Record& record : batch.records) {
      if (sample.records == options.documents || study.full()) {
        sample.whole = false;
        sample.full = study.full();
        break;
      }
      ++sample.records;
      Document document;
      absl::Status status;
      if (is_signed_already) {
        signer.sign(record, signed_document, slices.data());
        if (signed_document.content == Content::rejected) status = invalid(signed_document.reason);
      } else if (record.pieces != nullptr) {
        large.clear();
        status = each_piece(*decoder, record, document, [&large](std::string_view text) { large += text; });
        document.text = large;
      } else {
        status = decoder->decode(record, document);
      }
      if (!status.ok()) {
        problem(fmt::format("{}: {}", place_in_words(record), std_sv(status.message())));
        continue;
      }
      waiting.show("reading document", sample.records, options.documents);
      if (is_signed_already) {
        study.add_signed(signed_document, slices.data(), record.value.size());
        continue;
      }
      const Metadata about = metadata_of(record, document);
      metadata.clear();
      encode_metadata(about, metadata);
      study.add(document.text, document.scope, metadata.size());
      kind.add(document.text, document.page);
      RETURN_IF_ERROR(relations->add(document.text, document.scope, about.name()));
    }
  }
  sample.without_text = study.without_text();
  sample.too_short = study.too_short();
  if (study.documents() == 0) {
    std::string why = sample.messages.empty() ? "" : "; the first problem: " + sample.messages.front();
    return invalid(fmt::format("{}: none of {} records holds enough text to compare{}", sample.name,
                               with_commas(sample.records), why));
  }
  sample.result =
      study.finish([&](uint64_t done, uint64_t total) { waiting.show("comparing document", done, total); });
  if (relations) {
    ASSIGN_OR_RETURN(sample.parts, relations->finish());
    sample.kind = kind.finish();
  }
  return sample;
}

// The extraction of HTML pages in these files: "visible" or "main". Empty if there are no pages or the input
// cannot be read twice.
absl::StatusOr<std::string> extract_of_pages(const TuneSampleOptions& options) {
  const FormatOptions& format = options.format;
  if (is_signed(format)) return "";
  ASSIGN_OR_RETURN(const Listing listing, list_files({.paths = options.paths}));
  std::string described = describe_format(format);
  for (const InputFile& file : listing.files) {
    if (file.pipe) return "";
    if (file.archive()) described += describe_pages(format);
  }
  for (const char* extract : {"visible", "main"}) {
    if (described.find(fmt::format("={}", extract)) != std::string::npos) return extract;
  }
  return "";
}

constexpr uint64_t kTitle = 15, kShort = 40, kArticle = 60;  // words
constexpr double kMisread = .01;

// Measures the sample with settings for documents of its kind, and keeps those that find more.
absl::Status measure_advice(const Options& o, const HashKey& key, const TuneSampleOptions& options,
                            TuneReport& report) {
  const TuneSample& sample = *report.sample;
  if (!sample.parts) return absl::OkStatus();
  for (const std::string& path : options.paths) {
    std::error_code none;
    if (path == "-" || std::filesystem::is_fifo(path, none)) return absl::OkStatus();  // cannot be read again
  }
  const Options defaults;
  const auto measured = [&](const Options& other) -> absl::StatusOr<TuneSample> {
    ASSIGN_OR_RETURN(const EngineOptions engine, engine_options(other, key));
    return measure_sample(options, engine);
  };
  // Adds the advice if it finds more than by chance.
  const auto advise = [&](Advice advice) {
    const bool more = advice.advised > advice.now + std::max<uint64_t>(1, sample.result.documents / 100);
    if (more) report.advice.push_back(std::move(advice));
    return more;
  };
  const SampleKind& kind = sample.kind;
  Options other = o;
  if (kind.words <= kShort && o.shingle_words == defaults.shingle_words) {
    const bool titles = kind.words <= kTitle && o.threshold == defaults.threshold;
    other.shingle_words = 2;
    if (titles) other.threshold = .5;
    ASSIGN_OR_RETURN(const TuneSample short_runs, measured(other));
    advise({.why = fmt::format(
                "Short texts: half of them have at most {} words, and one other word changes {} runs of "
                "{} words.",
                kind.words, o.shingle_words, o.shingle_words),
            .flags = titles ? "--set shingle_words=2 -t 0.5" : "--set shingle_words=2",
            .what = "copies",
            .now = sample.duplicates(),
            .advised = short_runs.duplicates()});
  } else if (kind.misread >= kMisread && o.threshold == defaults.threshold) {
    other.threshold = .5;
    ASSIGN_OR_RETURN(const TuneSample lower, measured(other));
    advise({.why = fmt::format(
                "Scanned texts: {:.1f} % of the words are rare and differ by one letter from a frequent "
                "word.",
                100 * kind.misread),
            .flags = "-t 0.5",
            .what = "copies",
            .now = sample.duplicates(),
            .advised = lower.duplicates()});
  }
  if (kind.words < kArticle || o.relations != defaults.relations) return absl::OkStatus();
  other = o;
  other.relations = {"near", "contained", "contains", "shares"};
  other.passage_words = 60;
  ASSIGN_OR_RETURN(const TuneSample passages, measured(other));
  const std::string_view documents = kind.pages >= .5 ? "Pages" : "Articles";
  if (!advise({.why = fmt::format("{} that share passages of 60 words and more.", documents),
               .flags = "--relations contained,contains,shares --set passage_words=60",
               .what = "related documents",
               .now = sample.related(),
               .advised = passages.related()}))
    advise({.why = fmt::format("{} that are parts of others, or share passages.", documents),
            .flags = "--relations contained,contains,shares",
            .what = "related documents",
            .now = 0,
            .advised = sample.related()});
  return absl::OkStatus();
}

struct TuneFlags {
  std::string memory, svg, config_file;
  std::vector<std::string> sample;
  uint64_t sample_documents = 20'000;
  bool json = false, ascii = false;
};

absl::Status tune(const Config& config, const TuneFlags& flags) {
  Options o = config.options;
  if (!flags.sample.empty()) RETURN_IF_ERROR(learn_signed_format(flags.sample, o.input));
  TuneReport report{.recall = o.recall, .banding_given = o.bands != 0 || o.rows != 0};
  const std::vector<NamedPath> outputs{{"--svg", flags.svg}};
  std::vector<NamedPath> inputs{{"--config", flags.config_file}, {"hash_key_file", o.hash_key_file}};
  for (const std::string& path : flags.sample) inputs.push_back({"--sample", path});
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  if (!flags.memory.empty()) {
    std::optional<uint64_t> bytes = parse_size(flags.memory);
    if (!bytes || *bytes == 0) {
      return invalid("--memory " + shown(flags.memory) + " is not a size (such as 500MB, 8GiB)");
    }
    report.memory_budget = *bytes;
  }
  ASSIGN_OR_RETURN(HashKey key, hash_key_to_look_with(o));
  ASSIGN_OR_RETURN(report.engine, engine_options(o, key));
  if (!flags.sample.empty()) {
    TuneSampleOptions sample{
        .paths = flags.sample, .documents = flags.sample_documents, .format = o.input, .outputs = outputs};
    ASSIGN_OR_RETURN(report.sample, measure_sample(sample, report.engine));
    ASSIGN_OR_RETURN(report.extract, extract_of_pages(sample));
    if (!report.extract.empty()) {
      report.other_extract = report.extract == "main" ? "visible" : "main";
      sample.format.extract = *extract_named(report.other_extract);
      ASSIGN_OR_RETURN(report.other, measure_sample(sample, report.engine));
      sample.format.extract = o.input.extract;
    }
    RETURN_IF_ERROR(measure_advice(o, key, sample, report));
  }
  if (!flags.svg.empty()) {
    RETURN_IF_ERROR(write_whole_output(flags.svg, tune_svg(report)));
    if (flags.svg == "-") return absl::OkStatus();
  }
  print_out("{}", flags.json ? tune_json(report) : tune_text(report, utf8_locale() && !flags.ascii));
  return absl::OkStatus();
}

}  // namespace

uint64_t TuneSample::related() const {
  return parts ? std::accumulate(parts->unique.begin(), parts->unique.end(), uint64_t{0}) : 0;
}

int tune_main(int argc, char** argv) {
  CLI::App app(
      "Shows the effect of a threshold before you use it: the probability that doppel finds a pair of each\n"
      "similarity, the cost in memory, disk and work, and the effect of other settings. With --sample it "
      "measures the\n"
      "same on your own documents and suggests a threshold for them.\n\n"
      "Examples:\n"
      "  doppel tune --threshold 0.7 --memory 8GiB\n"
      "  doppel tune --sample crawl.jsonl.gz --svg crawl.svg\n"
      "  doppel tune --bands 20 --rows 5 --json | jq .alternatives\n"
      "  doppel tune --relations near,contained,contains --passage-words 60",
      "doppel tune");
  TuneFlags flags;
  CommonFlags common;
  add_setting_flag(app, common, "-t,--threshold", "threshold");
  add_setting_flag(app, common, "--recall", "recall");
  add_setting_flag(app, common, "--num-perm", "num_perm");
  add_setting_flag(app, common, "--bands", "bands");
  add_setting_flag(app, common, "--rows", "rows");
  add_setting_flag(app, common, "--relations", "relations");
  add_setting_flag(app, common, "--passage-words", "passage_words");
  app.add_option("--memory", flags.memory, "show how many originals fit into this much memory")
      ->type_name("SIZE");
  app.add_option("--svg", flags.svg,
                 "draw the curve (and the sample's similarities) into this file; - is stdout")
      ->type_name("FILE");
  app.add_option("--sample", flags.sample, "measure on these documents: files, directories, or - for stdin")
      ->type_name("PATH");
  app.add_option("--sample-documents", flags.sample_documents, "the first N of them at most")
      ->check(CLI::Range(uint64_t{2}, uint64_t{1'000'000}))
      ->type_name("N")
      ->capture_default_str();
  add_setting_flag(app, common, "--format", "input.format");
  add_setting_flag(app, common, "--id-field", "input.id");
  add_setting_flag(app, common, "--text-field", "input.text");
  app.add_flag("--json", flags.json, "one line of JSON instead of text");
  app.add_flag("--ascii", flags.ascii, "use ASCII only in the plots");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("tune", config.status(), kExitUsage);
  flags.config_file = common.config_file;
  absl::Status status = tune(*config, flags);
  if (status.ok()) return kExitDone;
  const bool usage =
      status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound;
  return fail("tune", status, usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel
