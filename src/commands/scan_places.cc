#include "commands/scan_places.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/places.h"
#include "files/write/outputs.h"
#include "open/setup.h"

namespace doppel {
namespace {

std::vector<NamedPath> outputs_of(const ScanFlags& flags) {
  return {{"--output", flags.sink.output},
          {"--keep", flags.sink.keep},
          {"--rejects", flags.sink.rejects},
          {"--cdxj", flags.cdxj},
          {"--html", flags.html}};
}

// Whether an earlier run wrote this page, so that it may be written again. `begin_page()` begins it.
bool is_page_of_ours(const std::string& path) {
  std::string head(1024, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find(R"(<meta name="generator" content="doppel">)") != std::string::npos;
}

// Refuses names of formats that are not written here. Lines of text (input.format: text) may be anything.
absl::Status check_endings(const Options& o, const ScanFlags& flags) {
  if (o.input.format == "text") return absl::OkStatus();
  for (const auto& [what, path] : {NamedPath{"--output", flags.sink.output}, {"--keep", flags.sink.keep}}) {
    const std::string ending = std::filesystem::path(path).extension().string();
    if (ending == ".html" || ending == ".htm") {
      return invalid(
          fmt::format("{}: {}: doppel writes JSON lines here; name a file .jsonl. A page of all comes from "
                      "--html {}, and of "
                      "two documents from: doppel explain FILE FILE --html {}",
                      what, path, path, path));
    }
    if (ending != ".csv" && ending != ".tsv" && ending != ".xlsx") continue;
    const std::string lines = std::filesystem::path(path).replace_extension(".jsonl").string();
    return invalid(
        fmt::format("{}: {}: doppel writes JSON lines here; name a file .jsonl, and make the table of it: "
                    "duckdb -c \"COPY (FROM '{}') TO '{}'\"",
                    what, path, lines, path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status read_list(ScanFlags& flags) {
  const auto wrong = [&](std::string_view cause) {
    return invalid(fmt::format("--list: {}: {}", flags.list, cause));
  };
  Fd fd(flags.list == "-" ? ::dup(STDIN_FILENO) : ::open(flags.list.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return wrong(system_cause());
  std::string_view name = flags.list;
  const std::unique_ptr<ByteStream> stream =
      make_byte_stream(std::move(fd), packing_of(name), std::make_shared<std::atomic<uint64_t>>(0));
  std::string text;
  for (std::vector<char> piece(64 << 10);;) {
    const absl::StatusOr<size_t> got = stream->read(piece.data(), piece.size());
    if (!got.ok()) return wrong(std_sv(got.status().message()));
    if (*got == 0) break;
    text.append(piece.data(), *got);
  }
  const bool joined = !flags.list_root.empty() && !flags.list_root.ends_with('/');
  const std::string root = joined ? flags.list_root + "/" : flags.list_root;
  for (const absl::string_view part : absl::StrSplit(text, '\n')) {
    const std::string_view line = std_sv(absl::StripAsciiWhitespace(part));
    if (line.empty() || line.starts_with('#')) continue;
    const bool whole = is_url(line) || line.starts_with('/');
    flags.paths.push_back(whole ? std::string(line) : root + std::string(line));
  }
  return flags.paths.empty() ? wrong("names no file") : absl::OkStatus();
}

absl::Status check_best(const Options& o, const ScanFlags& flags) {
  const auto refuse = [](std::string_view why) { return invalid(fmt::format("--best: {}", why)); };
  const FilesSinkOptions& sink = flags.sink;
  if (const absl::Status status = Best::parse(flags.best).status(); !status.ok())
    return refuse(std_sv(status.message()));
  if (sink.keep.empty() && sink.keep_directory.empty() && sink.keep_files.empty())
    return refuse("it chooses what --keep (or --keep-files) writes; give that, too");
  if (!o.state_directory.empty())
    return refuse("not with --state: what an earlier run has kept cannot be taken back");
  if (!o.warc_roots.empty()) return refuse("not with warc.roots: documents that are fetched are not kept");
  for (const std::string& path : flags.paths) {
    std::error_code none;
    if (path == "-" || std::filesystem::is_fifo(path, none))
      return refuse("the input is read twice, which a pipe cannot be; name files");
  }
  return absl::OkStatus();
}

absl::Status check_places(const Config& config, const ScanFlags& flags) {
  const Options& o = config.options;
  RETURN_IF_ERROR(check_endings(o, flags));
  for (const auto& [what, path] : outputs_of(flags)) {
    if (!path.ends_with(".parquet") && !path.ends_with(".arrow") && !path.ends_with(".feather")) continue;
    const bool table = what == "--keep" || (what == "--output" && flags.sink.mode == FilesOutput::verdicts);
    if (!path.ends_with(".parquet") || !table) {
      return invalid(fmt::format(
          "{}: {}: doppel writes JSON lines here, not Parquet or Arrow; name a file .jsonl. As Parquet it "
          "writes "
          "verdicts (--all -o FILE.parquet) and the unique rows of Parquet files (--keep FILE.parquet)",
          what, path));
    }
    if (!o.state_directory.empty()) {
      return invalid(fmt::format(
          "{}: {}: not with --state: a Parquet file is written as a whole, and an interrupted run "
          "could not continue it; write JSON lines, or leave --state out",
          what, path));
    }
  }
  if (flags.keep_all && flags.sink.keep_files.empty())
    return invalid("--keep-all: it says what --keep-files copies; give that, too");
  if (flags.keep_all && !o.state_directory.empty())
    return invalid("--keep-all: not with --state, because files of earlier runs are not read again");
  if (is_signed(o.input)) {
    for (const auto& [what, value] :
         {std::pair("--keep", flags.sink.keep + flags.sink.keep_directory),
          std::pair("--keep-files", flags.sink.keep_files), std::pair("--cdxj", flags.cdxj)}) {
      if (value.empty()) continue;
      return invalid(
          fmt::format("{}: not with input.format: signed, which holds no documents; write verdicts "
                      "(--all), and choose from the documents by them",
                      what));
    }
  }
  if (o.cut != CutTexts::nothing) {
    if ((flags.sink.keep + flags.sink.keep_directory + flags.sink.keep_files).empty())
      return invalid("cut: shares says what --keep (or --keep-files) leaves out; give that, too");
    if (!flags.best.empty())
      return invalid("cut: shares: not with --best, which may keep a later copy instead of the original");
  }
  if (flags.order == "date" && !o.state_directory.empty()) {
    return invalid(
        "--order date: not with --state, which remembers how far each file was read; give all files of a "
        "crawl "
        "in one run");
  }
  if (flags.order == "date" && !flags.cdxj.empty())
    return invalid("--order date: not with --cdxj; write the index in a run of its own");
  if (o.dry_run && !o.state_directory.empty())
    return invalid("dry_run: not with --state, which remembers; without it scan judges and keeps nothing");
  if (o.dry_run && !(flags.sink.keep_files + flags.sink.keep_directory).empty())
    return invalid("dry_run: not with --keep or --keep-files, which write");
  for (const auto& [what, path] : outputs_of(flags)) {
    if (o.dry_run && !path.empty() && path != "-")
      return invalid(fmt::format("dry_run: not with {}, which writes {}", what, path));
  }
  std::vector<NamedPath> inputs{{"--config", flags.config_file}, {"hash_key_file", o.hash_key_file}};
  for (const std::string& path : flags.paths) inputs.push_back({"input", path});
  for (const std::string& path : o.warc_cdxj) inputs.push_back({"warc.cdxj", path});
  const std::vector<NamedPath> outputs = outputs_of(flags);
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  for (const auto& [what, path] : outputs) {
    if (path.empty() || path == "-" || o.state_directory.empty() || !lies_in(path, o.state_directory))
      continue;
    return invalid(fmt::format("{}: {} is in the state directory {}; name a place outside it", what, path,
                               o.state_directory));
  }
  for (const std::string& against : o.against) {
    for (const auto& [what, path] : outputs) {
      if (path.empty() || path == "-" || !lies_in(path, against)) continue;
      return invalid(fmt::format("{}: {} is in {} (--against), which is only read; name a place outside it",
                                 what, path, against));
    }
    for (const std::string& path : flags.paths) {
      if (path != "-" && lies_in(path, against))
        return invalid(fmt::format("{} is in {} (--against), which is an index", path, against));
    }
  }
  for (const std::string& path : flags.paths) {
    const auto refuse = [&](const std::string& what, const std::string& directory) {
      return invalid(fmt::format("{} is in {} ({}), where doppel writes; name another directory", path,
                                 directory, what));
    };
    if (path == "-") continue;
    if (is_url(path) && !flags.sink.keep_files.empty()) {
      return invalid(
          fmt::format("--keep-files: copies local files, and {} is a URL; --keep keeps lines, rows "
                      "and records",
                      url_without_secrets(path)));
    }
    if (!o.state_directory.empty() && lies_in(path, o.state_directory))
      return refuse("--state", o.state_directory);
    if (!flags.sink.keep_files.empty() && lies_in(path, flags.sink.keep_files))
      return refuse("--keep-files", flags.sink.keep_files);
    if (!flags.sink.keep_directory.empty() && lies_in(path, flags.sink.keep_directory))
      return refuse("--keep", flags.sink.keep_directory);
  }
  return absl::OkStatus();
}

void leave_out_outputs(FilesSourceOptions& source, const Options& o, const ScanFlags& flags,
                       std::string_view position) {
  for (const NamedPath& output : outputs_of(flags)) {
    if (is_known_output(position, output.path) || (output.what == "--html" && is_page_of_ours(output.path))) {
      source.own_outputs.push_back(output.path);
    } else {
      source.outputs.push_back(output);
    }
  }
  for (const std::string& directory : {o.state_directory, flags.sink.keep_files, flags.sink.keep_directory}) {
    if (!directory.empty()) source.output_directories.push_back(directory);
  }
}

}  // namespace doppel
