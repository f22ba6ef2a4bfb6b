// The study of character k-shingles: how k affects a similarity, how many functions of which family an
// estimate needs, and bands chosen for a threshold.
#include "base/status.h"
#include "fmt/format.h"
#include "lab/experiments.h"
#include "lab/shingles_study.h"

namespace doppel::lab {
namespace shingles {

absl::Status Study::run() {
  make_pairs();
  similarities();
  estimates();
  times_of_functions();
  RETURN_IF_ERROR(many_documents());
  faster_from();
  findings();
  return absl::OkStatus();
}

void Study::findings() {
  Table table{.name = "shingles_findings",
              .title = "The authors' findings and ours",
              .caption = caption(),
              .columns = {"finding of the study", "here"},
              .rows = {}};
  auto row = [&](std::string_view theirs, const std::string& ours) { table.row({text(theirs), text(ours)}); };
  row("J = 100 % at k = 1", fmt::format("{:.1f} %", found_.at_1));
  row("below 20 % from k = 7",
      fmt::format("{:.1f} % at k = 7, {:.1f} % at k = 15", found_.at_7, found_.at_15));
  row("similarity is higher with spaces",
      fmt::format("mean of k = 2 to 10: {:.1f} % with, {:.1f} % without", found_.spaces, found_.no_spaces));
  row("about 200 functions are enough",
      fmt::format("mean error {:.2f} points with 100, {:.2f} with 200, {:.2f} with 500: it falls as "
                  "1/sqrt(n), without a knee",
                  found_.error_100, found_.error_200, found_.error_500));
  row("time climbs from 250 functions",
      "time is proportional to n from the first function on (figures 15, 16)");
  row("Jenkins errs less", fmt::format("mean error from n = 50: {:.3f} points modular, {:.3f} Jenkins",
                                       found_.error[0], found_.error[1]));
  row("Jenkins costs more",
      fmt::format("mean time: {:.0f} us modular, {:.0f} us Jenkins", found_.seconds[0], found_.seconds[1]));
  row("LSH is not faster at 20 documents",
      found_.from == 0 ? "not faster in this run"
                       : fmt::format("faster from {} documents (table above)", found_.from));
  row("copies fall from k = 5 (mean word length 5.84)",
      fmt::format("at threshold .42: {:.0f} at k = 4, {:.0f} at 5, {:.0f} at 8 (mean word length {:.2f})",
                  found_.copies_4, found_.copies_5, found_.copies_8, found_.word_length));
  report_.add(std::move(table));
  report_.say(
      "Our reading: with k = 1 documents are sets of letters, which all documents share. From about the "
      "length of a word on, shingles cross words and depend on their order. A remainder modulo the number of "
      "rows is a very regular permutation of the rows: neighbours stay at a fixed distance, which adds "
      "errors to the estimates. A mixing function adds none. Jenkins' mix costs a little more than a "
      "division here, too.");
}

}  // namespace shingles

absl::StatusOr<Report> shingles_experiment(const LabOptions& options) {
  Report report{.name = "shingles",
                .title = "Character k-shingles, two hash families, automatic bands",
                .command = options.command,
                .blocks = {}};
  RETURN_IF_ERROR(shingles::Study(options, report).run());
  return report;
}

}  // namespace doppel::lab
