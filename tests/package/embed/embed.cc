#include <doppel/detector.h>

#include <iostream>

int main() {
  auto detector = doppel::Detector::create({.threshold = 0.5}).value();
  detector->insert(
      {.id = "first", .text = "the quick brown fox jumps over the lazy dog near the river bank"});
  auto j = detector->insert(
      {.id = "second", .text = "The quick brown fox jumps over the lazy dog near the river."});
  std::cout << (j.verdict == doppel::Verdict::duplicate ? j.duplicate_of : "unique") << ' ' << j.similarity
            << '\n';
  return j.duplicate_of == "first" ? 0 : 1;
}
