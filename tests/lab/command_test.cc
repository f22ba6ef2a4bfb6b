// `doppel lab` as a user runs it: every experiment at a small size, its files, and its messages about bad
// input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "commands/run_doppel.h"

namespace doppel {
namespace {

using doppel::testing::Ran;
using doppel::testing::read_file;
using doppel::testing::run_doppel;
using doppel::testing::TempDir;
using doppel::testing::write_file;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Returns the fields of one line; quoted ones may contain commas.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// Checks that every line has the fields that the first one names, and that no number is infinite or NaN.
// Returns the number of rows.
size_t check_csv(const std::string& path) {
  std::istringstream in(read_file(path));
  std::string line;
  std::getline(in, line);
  const size_t columns = fields(line).size();
  size_t rows = 0;
  for (; std::getline(in, line); ++rows) {
    const std::vector<std::string> row = fields(line);
    EXPECT_EQ(row.size(), columns) << path << ": " << line;
    for (const std::string& field : row) {
      EXPECT_TRUE(field != "nan" && field != "inf" && field != "-inf" && field != "-nan")
          << path << ": " << line;
    }
  }
  return rows;
}

struct Wanted {
  std::string name;
  size_t rows;
};

// Runs the experiment. All of `tables` must exist with this many rows, and every CSV and SVG file must be
// valid.
void check_experiment(const std::string& arguments, const std::vector<Wanted>& tables) {
  TempDir dir;
  const std::string out = dir.path().string();
  const Ran ran = run_doppel("lab " + arguments + " --seed 3 --csv " + out + "/csv --svg " + out +
                             "/svg --html " + out + "/all.html --markdown " + out + "/lab.md");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("seed 3"));
  for (const Wanted& table : tables) {
    const std::string path = out + "/csv/" + table.name + ".csv";
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    EXPECT_EQ(check_csv(path), table.rows) << path;
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out + "/csv")) {
    EXPECT_GT(check_csv(entry.path().string()), 0u) << entry.path();
    ++files;
  }
  EXPECT_GE(files, tables.size());
  const std::string page = read_file(out + "/all.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  const std::string markdown = read_file(out + "/lab.md");
  if (!std::filesystem::exists(out + "/svg")) return;
  for (const auto& entry : std::filesystem::directory_iterator(out + "/svg")) {
    const std::string picture = read_file(entry.path().string());
    EXPECT_THAT(picture, StartsWith("<svg"));
    EXPECT_THAT(picture, Not(HasSubstr("nan"))) << entry.path();
    EXPECT_THAT(picture, HasSubstr("$ doppel lab")) << entry.path();
    EXPECT_THAT(markdown, HasSubstr("](lab/" + entry.path().filename().string() + ")"));
    EXPECT_TRUE(std::filesystem::exists(out + "/lab/" + entry.path().filename().string()));
  }
}

TEST(LabCommand, Accuracy) {
  check_experiment("accuracy --quick --scale .05 --runs 2",
                   {{"accuracy_table1", 9}, {"accuracy_figure1", 18}, {"accuracy_wrapping", 7}});
}
TEST(LabCommand, Time) {
  check_experiment("time --quick --scale .05 --runs 2",
                   {{"time_comparisons", 4}, {"time_seconds", 4}, {"time_figure2", 12}});
}
TEST(LabCommand, NearDuplicates) {
  check_experiment("near-duplicates --quick --scale .02", {{"near_duplicates_table3_close", 11},
                                                           {"near_duplicates_table4_normal", 6},
                                                           {"near_duplicates_why_normal", 6},
                                                           {"near_duplicates_figure3_close", 12},
                                                           {"near_duplicates_slip", 5}});
}

TEST(LabCommand, Finder) {
  check_experiment("finder --quick --scale .05 --runs 2", {{"finder_truth", 1},
                                                           {"finder_steps_articles_2500", 10},
                                                           {"finder_theory_articles_2500", 18},
                                                           {"finder_grid_articles_2500", 20},
                                                           {"finder_times", 6},
                                                           {"finder_hash_codes", 2}});
}
TEST(LabCommand, FinderOnGivenArticles) {
  const std::string articles = DOPPEL_SOURCE_DIR "/tests/data/articles/articles_100";
  check_experiment("finder --quick --data " + articles + ".train --truth " + articles + ".truth",
                   {{"finder_truth", 1}, {"finder_steps_articles_100", 10}});
  TempDir dir;
  write_file(dir / "wrong.truth", "t980 t2023\nt980 nobody\n");
  const Ran ran = run_doppel("lab finder --data " + articles + ".train --truth " + (dir / "wrong.truth"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("wrong.truth:2: no article has the id nobody"));
}

TEST(LabCommand, MapReduce) {
  check_experiment("mapreduce --quick --scale .02",
                   {{"mapreduce_chances", 2}, {"mapreduce_results", 2}, {"mapreduce_figure1", 102}});
}

TEST(LabCommand, Shingles) {
  std::vector<Wanted> wanted{{"shingles_bands", 6}, {"shingles_lsh_from", 3}, {"shingles_findings", 9}};
  for (int figure = 6; figure <= 32; ++figure) {
    const size_t rows = figure == 7 || figure == 9     ? 15
                        : figure == 10 || figure == 26 ? 30
                        : figure >= 27                 ? 60
                                                       : 0;
    if (rows > 0)
      wanted.push_back(
          {"shingles_figure" + std::string(figure < 10 ? "0" : "") + std::to_string(figure), rows});
  }
  check_experiment("shingles --quick", wanted);
}

TEST(LabCommand, Theory) {
  check_experiment("theory --quick --banding 1x10 --banding 4x4", {{"theory_hashed_shingles", 5},
                                                                   {"theory_row_types", 12},
                                                                   {"theory_signatures", 12},
                                                                   {"theory_bands", 3},
                                                                   {"theory_s_curves", 2 * 101 + 4},
                                                                   {"theory_steepest", 2},
                                                                   {"theory_below_above", 10},
                                                                   {"theory_one_in", 2}});
  EXPECT_EQ(run_doppel("lab theory --banding 4").code, 2);
}

TEST(LabCommand, Slips) {
  check_experiment("slips", {{"slips", 7}, {"slips_min_error", 6}, {"slips_union", 2}});
}

TEST(LabCommand, Compare) {
  check_experiment("compare --quick --scale .03", {{"compare_sketches", 8}, {"compare_finding", 4}});
}

TEST(LabCommandLong, AllQuickIsQuick) {
  const auto start = std::chrono::steady_clock::now();
  check_experiment(
      "all --quick",
      {{"accuracy_table1", 9}, {"shingles_findings", 9}, {"theory_bands", 3}, {"compare_sketches", 8}});
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::seconds(120));  // 30 on two cores of its own
}

TEST(LabCommand, OwnDocuments) {
  TempDir dir;
  for (int i = 0; i < 6; ++i) {
    std::string text;
    for (int w = 0; w < 900; ++w) text += "word" + std::to_string(w * (i % 2 + 1)) + " ";
    write_file(dir / ("in/" + std::to_string(i)), text);
  }
  const Ran ran = run_doppel("lab accuracy --quick --data " + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("6 documents of 900.0 distinct terms"));
  write_file(dir / "few/a", "only some words");
  const Ran few = run_doppel("lab accuracy --data " + (dir / "few"));
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.err, HasSubstr("doppel lab accuracy: 400 permutations of 3 terms"));
}

TEST(LabCommand, BadInput) {
  TempDir dir;
  std::filesystem::create_directory(dir / "empty");
  const Ran empty = run_doppel("lab accuracy --data " + (dir / "empty"));
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("empty: a folder without files"));
  write_file(dir / "binary/x", std::string("a\nb\0c", 5));
  const Ran binary = run_doppel("lab time --data " + (dir / "binary"));
  EXPECT_EQ(binary.code, 2);
  EXPECT_THAT(binary.err, HasSubstr("binary/x:2: not a text file"));
  EXPECT_EQ(run_doppel("lab").code, 2);
  EXPECT_EQ(run_doppel("lab nothing").code, 2);
  EXPECT_EQ(run_doppel("lab accuracy --quick --full").code, 2);
  EXPECT_EQ(run_doppel("lab accuracy --scale 0").code, 2);
  for (const char* help : {"lab --help", "lab accuracy --help", "help lab"})
    EXPECT_EQ(run_doppel(help).code, 0) << help;
  EXPECT_THAT(run_doppel("lab near-duplicates --help").out, HasSubstr("2,990 documents"));
}

}  // namespace
}  // namespace doppel
