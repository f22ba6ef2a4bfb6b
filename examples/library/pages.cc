// Judges three pages, keeps them in an index, opens the index again, and asks about a page. usage: pages
// DIRECTORY
#include <doppel/index.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace {

const std::string kBegin =
    "the quick brown fox jumps over the lazy dog near the river bank while seven old men watch from a bench ";
const std::string kEnd =
    "and nobody in the whole village can remember a summer as hot and as long as this one was";

template <typename Value>
Value value_or_exit(absl::StatusOr<Value> result) {
  if (result.ok()) return *std::move(result);
  std::cerr << result.status().message() << '\n';
  std::exit(1);
}

void show(const std::string& id, const doppel::Judgement& judgement) {
  std::cout << id;
  if (judgement.verdict == doppel::Verdict::duplicate) {
    std::cout << " repeats " << judgement.duplicate_of << '\n';
    return;
  }
  std::cout << " is unique";
  for (const doppel::RelatedOriginal& related : judgement.related)
    if (related.relation == doppel::Relation::contained) std::cout << ", and a part of " << related.id;
  std::cout << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  {
    doppel::Index::Options options;
    options.threshold = .7;
    options.relations = {"contained"};
    // The same by name, as settings of a program come.
    if (const absl::Status status = options.set("passage_words", "12"); !status.ok()) {
      std::cerr << status.message() << '\n';
      return 1;
    }
    const auto index = value_or_exit(doppel::Index::open(argv[1], options));
    show("whole", value_or_exit(index->insert({.id = "whole", .text = kBegin + kEnd})));
    show("copy", value_or_exit(index->insert({.id = "copy", .text = kBegin + kEnd + " indeed"})));
    show("half", value_or_exit(index->insert({.id = "half", .text = kBegin})));
  }
  // Options that are not given are those of the index.
  const auto index = value_or_exit(doppel::Index::open(argv[1]));
  show("question", value_or_exit(index->query({.id = "question", .text = kBegin})));
  std::cout << index->size() << " originals\n";
}
