#include "index/banding.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/status.h"

namespace doppel {
namespace {

// 1-(1-s^r)^b, accurate for small probabilities.
double meets(double s, double bands, double rows) {
  if (s <= 0) return 0;
  if (s >= 1) return bands > 0 ? 1 : 0;
  return -std::expm1(bands * std::log1p(-std::pow(s, rows)));
}

// The smallest b that reaches `recall` with r rows; 0 if num_perm / r bands do not suffice.
int bands_needed(double threshold, double recall, int num_perm, int rows) {
  const int most = num_perm / rows;
  if (most < 1 || meets(threshold, most, rows) < recall) return 0;
  int low = 1;
  int high = most;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (meets(threshold, middle, rows) >= recall) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Rounds down, so that the value in the message would be accepted.
std::string decimals(double value) {
  value = std::floor(value * 1e4) / 1e4;
  std::string digits = std::to_string(value);
  while (digits.size() > 3 && digits.back() == '0') digits.pop_back();
  return digits;
}

absl::Status impossible(double threshold, double recall, int num_perm) {
  // Bands of one row share a band most often.
  const double reachable = meets(threshold, num_perm, 1);
  // 1-(1-s)^k >= recall  <=>  s >= 1-(1-recall)^(1/k)
  double lowest = -std::expm1(std::log1p(-recall) / num_perm);
  lowest = std::ceil(lowest * 1e4) / 1e4;
  const double slots = std::ceil(std::log1p(-recall) / std::log1p(-threshold));
  return invalid("no banding of " + std::to_string(num_perm) + " slots reaches recall " +
                 std::to_string(recall) + " at threshold " + std::to_string(threshold) +
                 "; possible: recall " + decimals(reachable) + ", or threshold " + std::to_string(lowest) +
                 ", or num_perm " + std::to_string(static_cast<int64_t>(slots)));
}

}  // namespace

double meeting_probability(double s, Banding banding) { return meets(s, banding.bands, banding.rows); }

double banding_cost(double threshold, Banding banding) {
  // Comparing with one more neighbour costs a little more than one more table (banding_bench).
  constexpr double kRow = 1.1;
  // How many earlier documents have which similarity to a web page: ten million pages share few but frequent
  // phrases, a thousand a cookie notice or an imprint, some from the same site a template.
  constexpr struct {
    double similarity, neighbours;
  } kWeb[] = {{.005, 1e7}, {.1, 1'000}, {.3, 5}, {.5, 2}, {.7, 1}};
  double cost = banding.bands + 1;  // one more table finds exact duplicates
  for (const auto& near : kWeb)
    if (near.similarity < threshold)
      cost += kRow * near.neighbours * meeting_probability(near.similarity, banding);
  return cost;
}

absl::StatusOr<Banding> choose_banding(double threshold, double recall, int num_perm) {
  if (!(threshold > 0 && threshold <= 1)) return invalid("threshold must be above 0 and at most 1");
  if (!(recall > 0 && recall < 1)) return invalid("recall must be above 0 and below 1");
  if (num_perm < 1) return invalid("num_perm must be at least 1");
  Banding best;
  double least = 0;
  for (int rows = num_perm; rows >= 1; --rows) {
    const Banding banding{bands_needed(threshold, recall, num_perm, rows), rows};
    if (banding.bands == 0) continue;
    const double cost = banding_cost(threshold, banding);
    if (best.bands != 0 && cost >= least) continue;
    best = banding;
    least = cost;
  }
  if (best.bands != 0) return best;
  return impossible(threshold, recall, num_perm);
}

int min_equal_slices(uint32_t threshold_ppm, int num_perm) {
  const double s = std::min(threshold_ppm, 1000000u) / 1e6;
  const double p = s + (1 - s) / 256;  // slices of different ranks are equal once in 256
  const double k = num_perm;
  const double least = std::ceil(k * p - 5 * std::sqrt(k * p * (1 - p)));
  return std::clamp(static_cast<int>(least), 1, std::max(1, num_perm));
}

}  // namespace doppel
