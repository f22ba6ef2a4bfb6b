// doppel batch map|reduce|clusters: the parts of a streaming job that finds the duplicates of an archive.
#include <CLI/CLI.hpp>
#include <iostream>

#include "base/status.h"
#include "commands/batch_job.h"
#include "commands/commands.h"
#include "commands/say.h"
#include "fmt/format.h"
#include "serve/setup.h"

namespace doppel {
namespace {

constexpr uint64_t kShownRejects = 10;

// The cluster counts what a task says on stderr in this form.
void report(std::string_view name, uint64_t value) {
  if (value > 0) print_err("reporter:counter:doppel,{},{}\n", name, value);
}

absl::Status map(const Config& config, const EngineOptions& engine) {
  RETURN_IF_ERROR(check_format_of_texts(config.options.input));
  BatchMapper mapper(engine, config.options.input);
  BatchCounters counters;
  std::string out;
  for (std::string line; stdout_error() == 0 && std::getline(std::cin, line);) {
    ++counters.records;
    const size_t size = line.size();
    line.append(kRecordPadding, '\0');
    out.clear();
    const Record record{
        .value = std::string_view(line).substr(0, size), .source = "stdin", .line = counters.records};
    const absl::Status status = mapper.add(record, out);
    if (!status.ok() && ++counters.rejected <= kShownRejects) {
      print_err("doppel batch map: stdin:{}: {}\n", counters.records, std_sv(status.message()));
    }
    write_out(out);
  }
  flush_out();
  report("documents", counters.records);
  report("rejected", counters.rejected);
  return absl::OkStatus();
}

absl::Status reduce(const EngineOptions& engine) {
  BatchReducer reducer(engine);
  std::string out;
  for (std::string line; stdout_error() == 0 && std::getline(std::cin, line);) {
    out.clear();
    const absl::Status status = reducer.add(line, out);
    if (!status.ok()) {
      return invalid(fmt::format("stdin:{}: {}", reducer.counters().records, std_sv(status.message())));
    }
    write_out(out);
  }
  out.clear();
  reducer.finish(out);
  write_out(out);
  flush_out();
  report("candidates", reducer.counters().candidates);
  report("pairs", reducer.counters().printed);
  report("capped", reducer.counters().capped);
  return absl::OkStatus();
}

absl::Status run(const std::string& part, const Config& config) {
  std::ios::sync_with_stdio(false);
  if (part == "clusters") {
    std::string out;
    ASSIGN_OR_RETURN(const BatchCounters counters, batch_clusters(std::cin, out));
    write_out(out);
    flush_out();
    print_err("{} pairs, {} duplicates\n", counters.records, counters.printed);
  } else {
    ASSIGN_OR_RETURN(const HashKey key, hash_key_to_look_with(config.options));
    ASSIGN_OR_RETURN(const EngineOptions engine, engine_options(config.options, key));
    RETURN_IF_ERROR(part == "map" ? map(config, engine) : reduce(engine));
  }
  return absl::OkStatus();
}

}  // namespace

int batch_main(int argc, char** argv) {
  CLI::App app(
      "Finds the duplicates of a large archive on any cluster that runs streaming jobs (Hadoop and others): "
      "map\n"
      "reads documents as lines of JSON, reduce reads the sorted lines of map, and clusters reads all "
      "pairs.\n"
      "Documents are ordered by their time, then by their id. All parts need the same settings and the same\n"
      "hash key (DOPPEL_HASH_KEY or hash_key_file); a record that was made with others stops the reducer.\n\n"
      "Examples:\n"
      "  doppel batch map < crawl.jsonl | LC_ALL=C sort | doppel batch reduce | doppel batch clusters\n"
      "  -mapper 'doppel batch map --config job.yaml' -reducer 'doppel batch reduce --config job.yaml'",
      "doppel batch");
  app.require_subcommand(1);
  std::string part;
  CommonFlags common;
  for (auto [name, about] : {std::pair{"map", "read documents, write lines of bands, signatures and sets"},
                             {"reduce", "read these lines, sorted; write verified pairs"},
                             {"clusters", "read all pairs, write duplicates by the one rule"}}) {
    CLI::App* sub = app.add_subcommand(name, about);
    sub->callback([&part, chosen = name] { part = chosen; });
    if (std::string_view(name) == "clusters") continue;
    add_setting_flag(*sub, common, "-t,--threshold", "threshold");
    add_setting_flag(*sub, common, "--recall", "recall");
    if (std::string_view(name) == "map") {
      add_setting_flag(*sub, common, "--format", "input.format");
      add_setting_flag(*sub, common, "--id-field", "input.id");
      add_setting_flag(*sub, common, "--text-field", "input.text");
    }
    add_common_flags(*sub, common);
  }
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("batch " + part, config.status(), kExitUsage);
  const absl::Status status = run(part, *config);
  return status.ok() ? kExitDone : fail("batch " + part, status, kExitStopped);
}

}  // namespace doppel
