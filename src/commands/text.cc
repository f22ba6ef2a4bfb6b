// doppel text: prints the part of a document that is compared, and what is left out.
#include <CLI/CLI.hpp>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/explain_input.h"
#include "fmt/format.h"
#include "formats/html/html.h"
#include "insight/json_writer.h"

namespace doppel {
namespace {

struct TextFlags {
  std::vector<std::string> names;
  std::string in;
  std::string extract;
  bool left_out = false, json = false;
};

// The text that one extraction gives for a document.
struct Extracted {
  std::string name, url, extract, text, source;
  std::vector<std::pair<std::string, std::string>> left_out;  // why, and what
};

std::vector<std::string> extractions(const TextFlags& flags) {
  if (flags.extract == "both") return {"visible", "main"};
  return {flags.extract};  // empty: input.extract decides
}

std::string_view kind_of(const std::string& extract) {
  return extract.empty() ? std::string_view("compared") : extract;
}

// Adds what the extraction `main` leaves out. This needs the markup, which `none` gives.
absl::Status add_left_out(const std::vector<FoundDocument>& markup, std::vector<Extracted>& texts) {
  HtmlExtractor extractor;
  for (size_t i = 0; i < texts.size() && i < markup.size(); ++i) {
    ASSIGN_OR_RETURN(std::string_view text, extractor.text(markup[i].text, Extract::main));
    if (text != texts[i].text) continue;  // the text comes from another extraction
    for (const HtmlPiece& piece : extractor.pieces()) {
      if (piece.fate != BlockFate::taken) texts[i].left_out.emplace_back(fate_name(piece.fate), piece.text);
    }
  }
  return absl::OkStatus();
}

// Names with "://" are URLs of documents in the named files.
absl::StatusOr<std::vector<FoundDocument>> find(const FormatOptions& format, const TextFlags& flags) {
  if (!flags.in.empty()) return documents_named({flags.in}, flags.names, format);
  std::vector<std::string> paths, urls;
  for (const std::string& name : flags.names) {
    (name.find("://") == std::string::npos ? paths : urls).push_back(name);
  }
  if (paths.empty()) return invalid("name the file that it is in: doppel text FILE " + urls.front());
  return urls.empty() ? documents_of(paths, format) : documents_named(paths, urls, format);
}

class Printer {
 public:
  explicit Printer(const TextFlags& flags, bool headed) : flags_(flags), headed_(headed) {}

  void print(const Extracted& e) const {
    if (flags_.json) return print_json(e);
    if (headed_)
      print_out("--- {}, {}: {} bytes{}\n", e.url.empty() ? e.name : e.url, kind_of(e.extract), e.text.size(),
                e.source.empty() ? "" : " (text_source: " + e.source + ")");
    print_out("{}\n", e.text);
    for (const auto& [why, text] : e.left_out) print_out("- {}: {}\n", why, text);
  }

 private:
  void print_json(const Extracted& e) const {
    JsonWriter json;
    json.text("name", e.name);
    if (!e.url.empty()) json.text("url", e.url);
    json.text("extract", kind_of(e.extract));
    if (!e.source.empty()) json.text("text_source", e.source);
    json.text("text", e.text);
    if (flags_.left_out) {
      json.open("left_out", '[');
      for (const auto& [why, text] : e.left_out) {
        json.open("", '{');
        json.text("why", why);
        json.text("text", text);
        json.close();
      }
      json.close();
    }
    print_out("{}", json.finish());
  }

  const TextFlags& flags_;
  bool headed_;
};

absl::Status print_texts(const Config& config, const TextFlags& flags) {
  std::vector<std::vector<Extracted>> all;
  for (const std::string& extract : extractions(flags)) {
    FormatOptions format = config.options.input;
    if (!extract.empty()) format.extract = *extract_named(extract);
    ASSIGN_OR_RETURN(const std::vector<FoundDocument> found, find(format, flags));
    std::vector<Extracted>& texts = all.emplace_back();
    for (const FoundDocument& document : found) {
      texts.push_back({document.name, document.url, extract, document.text, document.text_source, {}});
      if (extract.empty() && format.extract == ExtractPart::format && looks_like_html(document.text)) {
        print_err("doppel text: {}: compared as it is, markup and all; --format html reads it as a page\n",
                  document.name);
      }
    }
    if (!flags.left_out) continue;
    format.extract = ExtractPart::none;
    ASSIGN_OR_RETURN(const std::vector<FoundDocument> markup, find(format, flags));
    RETURN_IF_ERROR(add_left_out(markup, texts));
  }
  const Printer printer(flags, all.size() * all.front().size() > 1);
  for (size_t i = 0; i < all.front().size(); ++i) {
    for (const std::vector<Extracted>& texts : all) {
      if (i < texts.size()) printer.print(texts[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

int text_main(int argc, char** argv) {
  CLI::App app(
      "Prints the part of a document that is compared: the visible or the main text of an HTML page, and "
      "for\n"
      "anything else what its format defines.\n\n"
      "Examples:\n"
      "  doppel text --extract both page.html\n"
      "  doppel text --left-out crawl.warc.gz https://example.org/article\n"
      "  doppel text --json --extract main pages/*.html | jq -r .text",
      "doppel text");
  TextFlags flags;
  CommonFlags common;
  app.add_option("DOCUMENT", flags.names,
                 "files, and URLs of the documents in them to print (default: all); with --in, ids or URLs")
      ->required();
  app.add_option("--in", flags.in, "the file or directory that holds the documents, such as a WARC file")
      ->type_name("PATH");
  app.add_option("--extract", flags.extract,
                 "none (the markup), visible, main, or both (visible and main); default: input.extract")
      ->check(CLI::IsMember({"none", "visible", "main", "both"}));
  app.add_flag("--left-out", flags.left_out, "also print what main leaves out of a page, and why");
  add_setting_flag(app, common, "--format", "input.format");
  add_setting_flag(app, common, "--id-field", "input.id");
  add_setting_flag(app, common, "--text-field", "input.text");
  app.add_flag("--json", flags.json, "one line of JSON per text");
  add_common_flags(app, common);
  app.footer(
      "Exit codes: 0 printed; 2 wrong usage, or a document that does not exist; 3 stopped by an error.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("text", config.status(), kExitUsage);
  const absl::Status status = print_texts(*config, flags);
  if (status.ok()) return kExitDone;
  const bool usage =
      status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound;
  return fail("text", status, usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel
