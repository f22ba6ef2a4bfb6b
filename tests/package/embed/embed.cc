#include <doppel/index.h>
#include <doppel/version.h>

#include <iostream>

int main() {
  auto index = doppel::Index::open("", {.threshold = 0.5}).value();
  index->insert({.id = "first", .text = "the quick brown fox jumps over the lazy dog near the river bank"})
      .value();
  auto j =
      index->insert({.id = "second", .text = "The quick brown fox jumps over the lazy dog near the river."})
          .value();
  std::cout << (j.verdict == doppel::Verdict::duplicate ? j.duplicate_of : "unique") << ' ' << j.similarity
            << '\n';
  return j.duplicate_of == "first" ? 0 : 1;
}
