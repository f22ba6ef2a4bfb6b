// judge: what the oracle says of the documents of a JSONL file (id, text), a line each.
//
//   judge [--threshold 0.8] FILE.jsonl
//
// id, kind (unique, exact, near, unscored), original's id or '-', and the most similar original's id
// and similarity.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "oracle/oracle.h"
#include "simdjson.h"

using namespace doppel::oracle;

int main(int argc, char** argv) {
  CLI::App app("The exact verdicts for a file of documents");
  std::string path;
  double threshold = 0.8;
  app.add_option("FILE", path, "JSONL with the fields id and text")->required()->check(CLI::ExistingFile);
  app.add_option("--threshold", threshold)->check(CLI::Range(0.01, 1.0))->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  if (parser.load_many(path).get(lines) != simdjson::SUCCESS) {
    std::fprintf(stderr, "judge: cannot read %s\n", path.c_str());
    return 1;
  }
  Oracle oracle({.threshold_ppm = static_cast<uint64_t>(std::llround(threshold * 1e6))});
  std::vector<std::string> ids;
  for (auto line : lines) {
    std::string_view id, text;
    if (line["id"].get(id) != simdjson::SUCCESS || line["text"].get(text) != simdjson::SUCCESS) {
      std::fprintf(stderr, "judge: %s: document %zu is not JSON with id and text\n", path.c_str(),
                   ids.size() + 1);
      return 1;
    }
    ids.emplace_back(id);
    Answer answer = oracle.feed({.text = text});
    auto name = [&](std::optional<Number> number) { return number ? ids[*number].c_str() : "-"; };
    std::printf("%s\t%s\t%s\t%s\t%.4f\n", ids.back().c_str(), kind_name(answer.kind), name(answer.original),
                name(answer.best), answer.best_similarity.value());
  }
  return 0;
}
