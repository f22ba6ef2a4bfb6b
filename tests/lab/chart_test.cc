#include <gmock/gmock.h>

#include "lab/report.h"
#include "svg_labels.h"

namespace doppel::lab {
namespace {

TEST(Chart, LongNamesInTheLegendAreWhole) {
  Plot plot{.title = "Seconds of each step against documents",
            .x_label = "documents",
            .y_label = "seconds",
            .log_x = true,
            .log_y = true};
  for (const char* name :
       {"sets of words", "integers: own ids", "MinHash, own ids, k = 10", "MinHash, own ids, k = 100",
        "LSH, k = 100, b = 20, y/k", "LSH, k = 100, b = 20, exact verification"})
    plot.series.push_back({.name = name, .points = {{100, .01}, {1000, 1}, {10'000, 200}}});
  EXPECT_EQ(label_faults(svg(plot, "doppel lab finder")), "");
  plot.series.resize(1);
  plot.series[0].name = std::string(85, 'm');
  EXPECT_EQ(label_faults(svg(plot, std::string(300, 'c'))), "");
}

TEST(Chart, MarksLieBesideCurvesAndEachOther) {
  Plot plot{.title = "chance", .x_label = "similarity", .y_label = "probability", .y_from = 0, .y_to = 1};
  Series& curve = plot.series.emplace_back();
  curve.name = "r = 16, b = 60";
  for (int i = 0; i <= 50; ++i) curve.points.emplace_back(.5 + i / 100., i < 35 ? i / 35. : 1);
  for (const double x : {.5, .51, .8, .9, .91, 1.}) plot.marks.push_back({x, fmt::format("threshold {}", x)});
  EXPECT_EQ(label_faults(svg(plot, "doppel lab mapreduce")), "");
  EXPECT_THAT(svg(plot, ""), ::testing::HasSubstr(">threshold 0.91<"));
}

}  // namespace
}  // namespace doppel::lab
