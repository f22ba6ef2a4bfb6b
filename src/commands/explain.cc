// doppel explain: shows why two documents are duplicates of each other or not, and how they differ.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/explain_input.h"
#include "files/output_file.h"
#include "files/places.h"
#include "fmt/format.h"
#include "insight/explanation.h"
#include "insight/json_writer.h"
#include "insight/plots.h"
#include "insight/show.h"
#include "insight/text_diff.h"
#include "open/setup.h"

namespace doppel {
namespace {

// How the output for people looks.
struct ExplainStyle {
  bool colour = false, utf8 = false;
  size_t context = 12;  // equal words to show on each side of a change
};

std::string band_marks(const Explanation& e, bool utf8) {
  std::string out;
  for (bool equal : e.bands) {
    if (!out.empty() && utf8 && e.bands.size() <= 32) out += ' ';
    out += utf8 ? (equal ? "■" : "□") : (equal ? "#" : ".");
  }
  return out;
}

void json_side(JsonWriter& json, std::string_view key, const ExplainedText& side) {
  json.open(key, '{');
  json.text("name", side.name);
  if (!side.scope.empty()) json.text("scope", side.scope);
  json.number("bytes", side.bytes);
  json.number("words", side.words);
  json.number("shingles", side.shingles);
  json.number("set_bytes", side.set_bytes);
  json.close();
}

void json_overlap(JsonWriter& json, std::string_view key, Overlap overlap) {
  json.open(key, '{');
  json.real("similarity", similarity_ppm(overlap) / 1e6);
  json.number("inter", overlap.inter);
  json.number("union", overlap.uni);
  json.close();
}

void json_passages(JsonWriter& json, const CommonPassages& p) {
  json.open("passages", '{');
  if (p.relation.has_value()) {
    json.text("relation", relation_name(*p.relation));
  } else {
    json.null("relation");
  }
  json.boolean("asked", p.asked);
  json.number("shared", p.shared);
  json.real("of_a", similarity_ppm({p.shared, p.first}) / 1e6);
  json.real("of_b", similarity_ppm({p.shared, p.second}) / 1e6);
  const auto range = [&](std::string_view key, uint64_t begin, uint64_t end) {
    json.open(key, '[');
    json.number("", begin);
    json.number("", end);
    json.close();
  };
  for (const auto& [key, passages] : {std::pair("in_a", &p.in_first), std::pair("in_b", &p.in_second)}) {
    json.open(key, '[');
    for (const Passage& passage : *passages) {
      json.open("", '{');
      range("words", passage.words.begin, passage.words.end);
      range("bytes", passage.bytes.begin, passage.bytes.end);
      json.close();
    }
    json.close();
  }
  json.close();
}

std::string explain_text(const Explanation& e, const TextDiff& diff, const ExplainStyle& style) {
  std::string out;
  auto line = [&out](std::string_view text) {
    out += text;
    out += '\n';
  };
  const PlainWords words = in_plain_words(e);
  line(style.colour ? fmt::format("\x1b[1m{}\x1b[0m", words.headline) : words.headline);
  for (const std::string& sentence : words.sentences) line("  " + sentence);
  line("");
  const std::string first = one_line(e.a.name, 60);
  const std::string second = one_line(e.b.name, 60);
  const size_t width = std::max(first.size(), second.size());
  for (const auto* side : {&e.a, &e.b}) {
    line(fmt::format("  {}  {:<{}}  {} bytes, {} words, {} shingles", side == &e.a ? 'A' : 'B',
                     side == &e.a ? first : second, width, with_commas(side->bytes), with_commas(side->words),
                     with_commas(side->shingles)));
  }
  if (e.comparable) {
    line("");
    for (const Measure& m : measures(e)) {
      line(fmt::format("  {:<14}  {:<8}  {}", m.name, m.value, m.detail));
    }
    line(fmt::format("  {:<14}  {}  {} of {} equal", "bands", band_marks(e, style.utf8), e.bands_met(),
                     e.bands.size()));
  }
  if (shows_passages(e)) {
    line("");
    line("Passages that both have (the longest; words count from 0 on):");
    for (const auto& [side, text, passages] : {std::tuple('A', e.a.text, &e.passages->in_first),
                                               std::tuple('B', e.b.text, &e.passages->in_second)})
      for (const std::string& passage : passages_in_words(text, *passages))
        line(fmt::format("  {}  {}", side, passage));
  }
  line("");
  line(difference_in_words(diff));
  if (diff.removed + diff.added > 0) {
    line("");
    line(render_diff(diff_pieces(diff, style.context), style.colour));
  }
  return out;
}

std::string explain_json(const Explanation& e, const TextDiff& diff) {
  const PlainWords words = in_plain_words(e);
  JsonWriter json;
  json.boolean("duplicate", is_duplicate(e.finding));
  json.text("finding", finding_name(e.finding));
  json.text("headline", words.headline);
  json.open("reasons", '[');
  for (const std::string& sentence : words.sentences) json.text("", sentence);
  json.close();
  json.real("threshold", e.rule.threshold_ppm / 1e6);
  json_side(json, "a", e.a);
  json_side(json, "b", e.b);
  if (e.comparable) {
    json_overlap(json, "exact", e.exact);
    if (e.sets.has_value()) json_overlap(json, "sets", *e.sets);
    json_overlap(json, "slices", e.slices);
    json.text("decided_by", e.estimated ? "slices" : "sets");
    json.real("equal_slots", e.slots);
    json.number("equal_slices", e.equal_slices);
    json.number("min_equal_slices", e.rule.min_equal);
    json.number("num_perm", e.num_perm);
    json.open("bands", '[');
    for (bool equal : e.bands) json.boolean("", equal);
    json.close();
    json.number("rows", e.rule.banding.rows);
    json.real("chance_to_meet", e.meets());
  }
  if (e.passages.has_value()) json_passages(json, *e.passages);
  json.open("words", '{');
  json.number("equal", diff.equal);
  json.number("removed", diff.removed);
  json.number("added", diff.added);
  json.close();
  json.open("differences", '[');
  for (const DiffHunk& h : diff.hunks) {
    if (h.equal) continue;
    json.open("", '{');
    json.text("removed", text_of(diff.a, diff.a_words, h.a_begin, h.a_end));
    json.text("added", text_of(diff.b, diff.b_words, h.b_begin, h.b_end));
    json.close();
  }
  return json.finish();
}

struct ExplainFlags {
  std::vector<std::string> names;
  std::string in, html, config_file;
  size_t context = 12;
  bool json = false, ascii = false;
};

absl::Status explain_pair(const Config& config, const ExplainFlags& flags) {
  const Options& o = config.options;
  const std::vector<NamedPath> outputs{{"--html", flags.html}};
  std::vector<NamedPath> inputs{
      {"--in", flags.in}, {"--config", flags.config_file}, {"hash_key_file", o.hash_key_file}};
  for (const std::string& name : flags.names) {
    if (flags.in.empty()) inputs.push_back({"document", name});
  }
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  ASSIGN_OR_RETURN(HashKey key, hash_key_to_look_with(o));
  ASSIGN_OR_RETURN(EngineOptions engine, engine_options(o, key));
  absl::StatusOr<ExplainPair> pair =
      flags.in.empty() ? two_files(flags.names[0], flags.names[1], o.input)
                       : two_ids(flags.in, flags.names[0], flags.names[1], o.input, outputs);
  if (!pair.ok()) return pair.status();
  const auto& [a, b] = *pair;
  const Explanation e = explain(engine, {a.name, a.text, a.scope}, {b.name, b.text, b.scope});
  const TextDiff diff = diff_texts(a.text, b.text, engine.scheme.normalisation);
  if (!flags.html.empty()) {
    RETURN_IF_ERROR(write_whole_output(flags.html, explain_page(e, diff)));
    if (flags.html == "-") return absl::OkStatus();
  }
  const ExplainStyle style{.colour = colour_wanted(STDOUT_FILENO),
                           .utf8 = utf8_locale() && !flags.ascii,
                           .context = flags.context};
  print_out("{}", flags.json ? explain_json(e, diff) : explain_text(e, diff, style));
  return absl::OkStatus();
}

}  // namespace

int explain_main(int argc, char** argv) {
  CLI::App app(
      "Shows why two documents are duplicates of each other or not: how similar they are, whether doppel "
      "would\n"
      "find the pair, what it would decide, and which passages differ.\n\n"
      "Examples:\n"
      "  doppel explain draft.txt final.txt\n"
      "  doppel explain --in crawl.jsonl page-17 page-4711 --html why.html\n"
      "  doppel explain --threshold 0.7 a.txt b.txt --json | jq .finding",
      "doppel explain");
  ExplainFlags flags;
  CommonFlags common;
  app.add_option("DOCUMENT", flags.names,
                 "two files, or with --in two ids or URLs; the first one counts as the earlier")
      ->expected(2)
      ->required();
  app.add_option("--in", flags.in, "the file that holds both, one JSON document per line")->type_name("FILE");
  app.add_option("--html", flags.html, "write a page with both texts side by side; - is stdout")
      ->type_name("FILE");
  app.add_option("--context", flags.context, "number of equal words to show beside a change")
      ->capture_default_str();
  add_setting_flag(app, common, "-t,--threshold", "threshold");
  add_setting_flag(app, common, "--format", "input.format");
  add_setting_flag(app, common, "--id-field", "input.id");
  add_setting_flag(app, common, "--text-field", "input.text");
  app.add_flag("--json", flags.json, "one line of JSON instead of text");
  app.add_flag("--ascii", flags.ascii, "use ASCII only, except for the documents' own text");
  add_common_flags(app, common);
  app.footer(
      "Exit codes: 0 explained, whatever the verdict; 2 wrong usage, or a document that does not exist; 3 "
      "stopped\n"
      "by an error.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("explain", config.status(), kExitUsage);
  flags.config_file = common.config_file;
  absl::Status status = explain_pair(*config, flags);
  if (status.ok()) return kExitDone;
  const bool usage =
      status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound;
  return fail("explain", status, usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel
