// The second half of the MinHash study: locality-sensitive hashing, and near-duplicates found with it.
#include <algorithm>
#include <optional>

#include "base/status.h"
#include "fmt/format.h"
#include "lab/minhash_study.h"
#include "lab/primes.h"
#include "text/hash_key.h"

namespace doppel::lab {
namespace {

std::string nearest_divisors(int n, int wanted) {
  int below = 0;
  int above = 0;
  for (int d = 1; d <= n; ++d) {
    if (n % d != 0) continue;
    if (d < wanted) below = d;
    if (d > wanted && above == 0) above = d;
  }
  if (below == 0) return std::to_string(above);
  return above == 0 ? std::to_string(below) : fmt::format("{} and {}", below, above);
}

}  // namespace

absl::StatusOr<LSH> LSH::create(const MinHashMatrix& minHashMatrix, const std::vector<std::string>& docNames,
                                int bands, const LshOptions& options) {
  const int permutations = static_cast<int>(minHashMatrix.permutations);
  if (bands < 1 || permutations % bands != 0) {
    return invalid(
        fmt::format("{} permutations cannot be cut into {} bands; the nearest numbers that divide them: {}",
                    permutations, bands, nearest_divisors(permutations, bands)));
  }
  LSH out;
  out.names_ = docNames;
  out.rows_ = permutations / bands;
  out.tables_.resize(static_cast<size_t>(bands));
  out.buckets_ = options.wide_buckets ? uint64_t{1} << 32 : prime_from(docNames.size());
  RETURN_IF_ERROR(out.localitySensitiveHashing(minHashMatrix, options));
  return out;
}

absl::Status LSH::localitySensitiveHashing(const MinHashMatrix& matrix, const LshOptions& options) {
  const auto rows = static_cast<size_t>(rows_);
  std::optional<PermutationsFunctions> functions;
  for (size_t band = 0; band < tables_.size(); ++band) {
    if (!options.wide_buckets && (!functions || !options.one_tuple)) {
      ASSIGN_OR_RETURN(
          functions, PermutationsFunctions::create(rows_, names_.size(), Random(options.seed, band).next()));
    }
    Band& table = tables_[band];
    for (size_t d = 0; d < matrix.documents; ++d) {
      const std::span<const uint32_t> values = matrix.row(d).subspan(band * rows, rows);
      uint64_t h = 0;
      if (options.wide_buckets) {
        h = mix64(options.seed + band + 1);
        for (uint32_t value : values) h = mix64(h ^ value);
        h >>= 32;
      } else {
        for (size_t i = 0; i < rows; ++i) h += functions->apply(static_cast<int>(i), values[i]);
        h %= buckets_;
      }
      table.bucket_of.push_back(static_cast<uint32_t>(h));
      table.documents.emplace_back(static_cast<uint32_t>(h), static_cast<uint32_t>(d));
    }
    std::sort(table.documents.begin(), table.documents.end());
  }
  return absl::OkStatus();
}

std::vector<uint32_t> LSH::near_duplicates_of(size_t d) const {
  std::vector<uint32_t> out;
  for (const Band& table : tables_) {
    const uint32_t bucket = table.bucket_of[d];
    auto it = std::lower_bound(table.documents.begin(), table.documents.end(),
                               std::pair<uint32_t, uint32_t>(bucket, 0));
    for (; it != table.documents.end() && it->first == bucket; ++it) {
      if (it->second != d) out.push_back(it->second);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

absl::StatusOr<std::vector<std::string>> LSH::nearDuplicatesOf(std::string_view docName) const {
  const auto found = std::find(names_.begin(), names_.end(), docName);
  if (found == names_.end()) return absl::NotFoundError(fmt::format("there is no document {}", docName));
  std::vector<std::string> out;
  for (uint32_t d : near_duplicates_of(static_cast<size_t>(found - names_.begin()))) out.push_back(names_[d]);
  return out;
}

std::vector<uint32_t> NearDuplicates::getLessThanThresholdDocs(const MinHashMatrix& matrix,
                                                               const std::vector<uint32_t>& candidates,
                                                               size_t document, double s) {
  std::vector<uint32_t> out;
  for (uint32_t candidate : candidates) {
    if (approximate(matrix.row(document), matrix.row(candidate)) < s) out.push_back(candidate);
  }
  return out;
}

absl::StatusOr<NearDuplicates::Found> NearDuplicates::nearDuplicateDetector(const std::string& folder,
                                                                            int numPermutations, int numBands,
                                                                            double s,
                                                                            const std::string& docName,
                                                                            const MinHashOptions& options) {
  ASSIGN_OR_RETURN(const MinHash study, MinHash::create(folder, numPermutations, options));
  ASSIGN_OR_RETURN(const size_t d, study.find(docName));
  const MinHashMatrix matrix = study.minHashMatrix();
  ASSIGN_OR_RETURN(const LSH lsh, LSH::create(matrix, study.allDocs(), numBands, {.seed = options.seed}));
  const std::vector<uint32_t> candidates = lsh.near_duplicates_of(d);
  const std::vector<uint32_t> removed = getLessThanThresholdDocs(matrix, candidates, d, s);
  Found out;
  for (uint32_t candidate : candidates) {
    const bool gone = std::binary_search(removed.begin(), removed.end(), candidate);
    (gone ? out.removed : out.documents).push_back(study.allDocs()[candidate]);
  }
  return out;
}

}  // namespace doppel::lab
