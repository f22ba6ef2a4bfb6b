#include "base/nearest.h"

#include <algorithm>

namespace doppel {
namespace {

constexpr size_t kLongest = 64;  // nobody misspells one of our names into a longer one

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

// Keeps three rows of the classic table: the current one and the two before it (a swap looks two rows back).
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1);
  std::vector<int> above(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kLongest) return {};
  std::string nearest;
  int least = static_cast<int>(kLongest);
  auto consider = [&](std::string_view a, std::string_view b, int penalty, const std::string& candidate) {
    int distance = edit_distance(a, b);
    if (distance > static_cast<int>(a.size()) / 3 || distance + penalty >= least) return;
    least = distance + penalty;
    nearest = candidate;
  };
  for (const std::string& candidate : candidates) {
    consider(name, candidate, 0, candidate);
    if (last_part(candidate) != candidate) consider(last_part(name), last_part(candidate), 1, candidate);
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

}  // namespace doppel
