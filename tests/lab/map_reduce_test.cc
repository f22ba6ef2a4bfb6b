// The streaming job: any number of mappers and reducers, connected by their text, against all pairs by brute
// force.
#include "lab/map_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "commands/run_doppel.h"
#include "lab/random.h"

namespace doppel::lab {
namespace {

using doppel::testing::Ran;
using doppel::testing::read_file;
using doppel::testing::run_doppel;
using doppel::testing::TempDir;
using doppel::testing::write_file;
using ::testing::HasSubstr;

std::string as_lines(const std::vector<ShingleSet>& sets) {
  std::string out;
  for (const ShingleSet& set : sets) {
    append_set(set, out);
    out += '\n';
  }
  return out;
}

std::string mapped(const MapReduceOptions& options, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  const absl::Status status = run_mapper(options, in, out);
  EXPECT_TRUE(status.ok()) << status;
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// Sends every key to one of `reducers`, like a cluster. Returns the printed lines of all, sorted.
std::vector<std::string> reduced(const MapReduceOptions& options, const std::string& records,
                                 size_t reducers) {
  std::vector<std::vector<std::string>> inputs(reducers);
  for (const std::string& line : lines_of(records)) {
    inputs[std::hash<std::string>()(line.substr(0, line.find('\t'))) % reducers].push_back(line);
  }
  std::vector<std::string> out;
  for (std::vector<std::string>& input : inputs) {
    std::sort(input.begin(), input.end());
    std::string text;
    for (const std::string& line : input) text += line + "\n";
    std::istringstream in(text);
    std::ostringstream printed;
    const auto counters = run_reducer(options, in, printed);
    EXPECT_TRUE(counters.ok()) << counters.status();
    for (std::string& line : lines_of(printed.str())) out.push_back(std::move(line));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> brute_force(const std::vector<ShingleSet>& sets, uint32_t ppm) {
  std::vector<std::string> out;
  for (const ShingleSet& a : sets) {
    for (const ShingleSet& b : sets) {
      if (a.id >= b.id) continue;
      std::vector<uint32_t> both;
      std::set_intersection(a.shingles.begin(), a.shingles.end(), b.shingles.begin(), b.shingles.end(),
                            std::back_inserter(both));
      const size_t any = a.shingles.size() + b.shingles.size() - both.size();
      if (both.size() * 1'000'000 < any * uint64_t{ppm}) continue;
      out.push_back(std::to_string(a.id) + "\t" + std::to_string(b.id));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(MapReduce, Modulus) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto n = static_cast<uint32_t>(random.between(2, i % 2 == 0 ? 100 : UINT32_MAX));
    const uint64_t v = i % 3 == 0 ? uint64_t{n} * random.below(UINT32_MAX) - random.below(2) : random.next();
    ASSERT_EQ(Modulus(n).of(v), v % n) << v << " mod " << n;
  }
}

TEST(MapReduce, SamePairsWithAnyNumberOfReducersEachOnce) {
  for (uint64_t seed : {1, 2, 3}) {
    const std::vector<ShingleSet> sets = make_sets(400, 20'000, seed);
    const MapReduceOptions options{.rows = 8, .bands = 30, .seed = seed};  // every pair at .9 meets
    const std::string records = mapped(options, as_lines(sets));
    EXPECT_EQ(std::count(records.begin(), records.end(), '\n'), 400 * 30);
    const std::vector<std::string> exact = brute_force(sets, options.threshold_ppm);
    EXPECT_GT(exact.size(), 10u);
    for (size_t reducers : {1, 2, 7}) EXPECT_EQ(reduced(options, records, reducers), exact) << reducers;
    // Without the rule of the lowest band, pairs come once for each shared band.
    MapReduceOptions every = options;
    every.every_band = true;
    std::vector<std::string> repeated = reduced(every, records, 3);
    EXPECT_GT(repeated.size(), exact.size() * 5);
    repeated.erase(std::unique(repeated.begin(), repeated.end()), repeated.end());
    EXPECT_EQ(repeated, exact);
    // Several mappers give the same result as one.
    const std::string input = as_lines(sets);
    const size_t middle = input.find('\n', input.size() / 2) + 1;
    EXPECT_EQ(mapped(options, input.substr(0, middle)) + mapped(options, input.substr(middle)), records);
  }
}

TEST(MapReduce, ExactPairsAreBruteForce) {
  for (uint64_t seed : {4, 5}) {
    const std::vector<ShingleSet> sets = make_sets(300, 2000, seed);
    for (uint32_t ppm : {50'000u, 300'000u, 870'000u, 900'000u, 1'000'000u}) {
      std::vector<std::string> found;
      for (auto [a, b] : exact_pairs(sets, ppm))
        found.push_back(std::to_string(a) + "\t" + std::to_string(b));
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, brute_force(sets, ppm)) << ppm;
    }
  }
}

TEST(MapReduce, PlantedPairsSurroundTheThreshold) {
  const std::vector<ShingleSet> sets = make_sets(5000, 20'000, 9);
  size_t near = 0;
  const auto at_84 = exact_pairs(sets, 840'000);
  std::map<uint64_t, const ShingleSet*> by_id;
  for (const ShingleSet& set : sets) by_id[set.id] = &set;
  for (auto [a, b] : at_84) near += std::abs(jaccard(*by_id[a], *by_id[b]) - .9) <= .01;
  EXPECT_GE(at_84.size(), 450u);
  EXPECT_GE(near, 60u);  // ten times as many sets: 600
}

TEST(MapReduce, AnotherSeedStopsTheReducer) {
  const std::string input = as_lines(make_sets(50, 20'000, 1));
  for (const MapReduceOptions& other :
       {MapReduceOptions{.seed = 2}, MapReduceOptions{.rows = 24}, MapReduceOptions{.max_shingle = 30'000}}) {
    std::istringstream in(mapped(other, input));
    std::ostringstream out;
    const auto counters = run_reducer({}, in, out);
    ASSERT_FALSE(counters.ok());
    EXPECT_THAT(std::string(counters.status().message()),
                HasSubstr("it was mapped with another seed, other rows or shingles"));
  }
}

TEST(MapReduce, MalformedLines) {
  auto map_error = [](const std::string& line) {
    std::istringstream in("1 2 3\n" + line + "\n");
    std::ostringstream out;
    return std::string(run_mapper({}, in, out).message());
  };
  EXPECT_THAT(map_error("x 1"), HasSubstr("stdin:2: expected an integer as id and not 'x'"));
  EXPECT_THAT(map_error("5 1 -2"), HasSubstr("stdin:2: expected an integer as shingle and not '-2'"));
  EXPECT_THAT(map_error("5"), HasSubstr("stdin:2: the set 5 has no shingles"));
  EXPECT_THAT(map_error(""), HasSubstr("stdin:2: expected an integer as id"));
  EXPECT_THAT(map_error("5 20001"),
              HasSubstr("stdin:2: the shingle 20001 is larger than --max-shingle 20000"));
  EXPECT_THAT(map_error("99999999999999999999 1"), HasSubstr("expected an integer as id"));
  auto reduce_error = [](const std::string& line) {
    std::istringstream in(line + "\n");
    std::ostringstream out;
    return std::string(run_reducer({}, in, out).status().message());
  };
  EXPECT_THAT(reduce_error("1 2 3"), HasSubstr("stdin:1: expected BAND BUCKET<TAB>ID SHINGLE"));
  EXPECT_THAT(reduce_error("39 2\t1 2"), HasSubstr("stdin:1: '39 2' is not a band below 39 and a bucket"));
  EXPECT_THAT(reduce_error("a b\t1 2"), HasSubstr("stdin:1: 'a b' is not a band"));
  EXPECT_THAT(reduce_error("-1 2\t1 2"), HasSubstr("is not a band"));
}

TEST(MapReduceCommand, InAPipeWithSort) {
  TempDir dir;
  const std::string d = dir.path().string();
  ASSERT_EQ(run_doppel("lab sets --sets 600 --seed 3 > " + d + "/sets; '" DOPPEL_BINARY "' lab pairs < " + d +
                       "/sets | sort > " + d +
                       "/exact; '" DOPPEL_BINARY "' lab map --rows 8 --bands 30 --seed 4 < " + d +
                       "/sets | LC_ALL=C sort | '" DOPPEL_BINARY
                       "' lab reduce --rows 8 --bands 30 --seed 4 | sort > " +
                       d + "/found; true")
                .code,
            0);
  EXPECT_GT(read_file(d + "/exact").size(), 100u);
  EXPECT_EQ(read_file(d + "/found"), read_file(d + "/exact"));
  write_file(d + "/bad", "1 2 3\n2 three\n");
  const Ran bad = run_doppel("lab map < " + d + "/bad");
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("doppel lab map: stdin:2: expected an integer as shingle and not 'three'"));
}

}  // namespace
}  // namespace doppel::lab
