// make_corpus: a corpus with planted near-copies as JSONL and, on request, what the oracle says of each
// document.
//
//   make_corpus --docs 20000 --seed 7 --kind mixed --out corpus.jsonl --truth truth.tsv
//
// A line of the truth: id, kind (unique, exact, near, unscored), original's id or '-', similarity to the most
// similar original as inter/union, how the document was made, from which one (id or '-').

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "oracle/corpus.h"
#include "oracle/oracle.h"

namespace {

using namespace doppel::oracle;

std::string ratio(const Ratio& r) { return std::to_string(r.inter) + "/" + std::to_string(r.uni); }

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Documents with planted near-copies, and the truth about them");
  CorpusOptions options;
  uint64_t docs = 20'000;
  double threshold = 0.8;
  std::string kind = "mixed", out_path = "-", truth_path;
  app.add_option("--docs", docs, "how many documents")->capture_default_str();
  app.add_option("--seed", options.seed, "names the corpus")->capture_default_str();
  app.add_option("--kind", kind, "all kinds of documents, or English pages only")
      ->check(CLI::IsMember({"mixed", "english"}))
      ->capture_default_str();
  app.add_option("--copies", options.copies, "share of copies")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--mean-words", options.mean_words, "of an original")
      ->check(CLI::Range(50.0, 2000.0))
      ->capture_default_str();
  app.add_option("--out", out_path, "the documents, a line of JSON each; - is standard output")
      ->capture_default_str();
  app.add_option("--truth", truth_path, "the oracle's verdicts; none if not given");
  app.add_option("--threshold", threshold, "of the oracle")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.english = kind == "english";

  std::ofstream file, truth;
  if (out_path != "-") file.open(out_path, std::ios::binary);
  if (!truth_path.empty()) truth.open(truth_path, std::ios::binary);
  if (!file || !truth) {
    std::fprintf(stderr, "make_corpus: cannot write %s\n", (!file ? out_path : truth_path).c_str());
    return 1;
  }
  std::ostream& out = out_path == "-" ? std::cout : file;

  Oracle oracle({.threshold_ppm = static_cast<uint64_t>(std::llround(threshold * 1e6))});
  std::vector<std::string> ids;
  for (uint64_t n = 0; n < docs; ++n) {
    CorpusDocument document = make_document(options, n);
    out << to_json(document) << '\n';
    if (!truth.is_open()) continue;
    ids.push_back(document.id);
    Answer answer = oracle.feed({.text = document.text, .scope = {}, .timestamp_ms = document.timestamp_ms});
    truth << document.id << '\t' << kind_name(answer.kind) << '\t'
          << (answer.original ? ids[*answer.original] : "-") << '\t'
          << ratio(answer.best ? answer.best_similarity : answer.similarity) << '\t'
          << edit_name(document.edit) << '\t' << (document.origin ? ids[*document.origin] : "-") << '\n';
  }
  out.flush();
  truth.flush();
  if (!out || (truth.is_open() && !truth)) {
    std::fprintf(stderr, "make_corpus: writing failed\n");
    return 1;
  }
  return 0;
}
