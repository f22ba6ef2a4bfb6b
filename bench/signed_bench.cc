// What signed records save: the same documents, as JSON lines and as the signed records made of them, decided
// in turns on one thread. Both must decide the same. Prints "name value unit" lines; rates are of processor
// time, so that other work on the machine does not count.
//
//   signed_bench --docs 20000 --repeats 5
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "memory_run.h"
#include "signing/sign_stream.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

struct Flags {
  uint64_t docs = 20'000;
  int repeats = 5;
  std::string kind = "english", temporary = "/tmp";
  double copies = 0.3;
};

// Keeps the records as a file would hold them.
class MemoryOutput final : public SignedOutput {
 public:
  explicit MemoryOutput(Lines& lines) : lines_(lines) {}
  absl::Status write(const SignedBatchOut& out) override {
    for (const std::string& record : out.signed_records) lines_.add(record);
    return absl::OkStatus();
  }

 private:
  Lines& lines_;
};

struct Ran {
  double cpu_us = 0;  // of a document
  uint64_t fingerprint = 0;
};

Ran decide(const EngineOptions& options, const Lines& lines, const FormatOptions& format,
           const Flags& flags) {
  const std::unique_ptr<Bodies> bodies = temporary_bodies(flags.temporary).value();
  Engine engine(options, *bodies);
  MemorySource source(lines);
  CountingSink sink;
  Pipeline pipeline{.source = source, .engine = engine, .sink = sink, .format = format};
  const double start = cpu();
  run_pipeline(pipeline).value();
  return {(cpu() - start) / static_cast<double>(flags.docs) * 1e6, sink.fingerprint};
}

int bench(const Flags& flags) {
  const Lines texts =
      corpus_lines({.seed = 1, .english = flags.kind == "english", .copies = flags.copies}, 0, flags.docs);
  EngineOptions options;
  options.scheme.key = {1, 2};
  options.rule = make_rule(0.8, 0.995, 128).value();
  options.initial_capacity = 1024;

  Lines records;
  MemoryOutput output(records);
  std::vector<double> signing, of_texts, of_records;
  for (int repeat = 0; repeat < flags.repeats; ++repeat) {
    records = {};
    MemorySource source(texts);
    SignStream stream{
        .source = source, .output = output, .scheme = options.scheme, .format = {}, .begins = {}};
    const double start = cpu();
    sign_stream(stream).value();
    records.finish();
    signing.push_back((cpu() - start) / static_cast<double>(flags.docs) * 1e6);
    const Ran a = decide(options, texts, {}, flags);
    const Ran b = decide(options, records, {.format = std::string(kSignedFormat)}, flags);
    if (a.fingerprint != b.fingerprint) {
      fmt::print(stderr, "signed_bench: signed records were decided differently\n");
      return 1;
    }
    of_texts.push_back(a.cpu_us);
    of_records.push_back(b.cpu_us);
  }
  const double n = static_cast<double>(flags.docs);
  fmt::print("documents {} documents\n", flags.docs);
  fmt::print("text_bytes {:.0f} bytes/document\n", static_cast<double>(texts.bytes.size()) / n);
  fmt::print("signed_bytes {:.0f} bytes/document\n", static_cast<double>(records.bytes.size()) / n);
  fmt::print("sign {:.3f} us/document\n", median(signing));
  fmt::print("decide_texts {:.3f} us/document\n", median(of_texts));
  fmt::print("decide_signed {:.3f} us/document\n", median(of_records));
  fmt::print("texts {:.0f} documents/s\n", 1e6 / median(of_texts));
  fmt::print("signed {:.0f} documents/s\n", 1e6 / median(of_records));
  fmt::print("times {:.2f} x\n", median(of_texts) / median(of_records));
  return 0;
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  doppel::Flags flags;
  CLI::App app("Documents and their signed records to verdicts");
  app.add_option("--docs", flags.docs)->capture_default_str();
  app.add_option("--repeats", flags.repeats)->capture_default_str();
  app.add_option("--kind", flags.kind)->check(CLI::IsMember({"english", "mixed"}))->capture_default_str();
  app.add_option("--copies", flags.copies, "share of near-copies")->capture_default_str();
  app.add_option("--temporary", flags.temporary, "directory for the bodies")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return doppel::bench(flags);
}
