#pragma once
// The presets that have fixtures in tests/formats/data, for suites that go through all of them.

#include <gtest/gtest.h>

#include <string>

namespace doppel::testing {

inline auto presets_with_fixtures() {
  return ::testing::Values("json", "scrapy-cluster", "ache", "nutch", "news-please", "pages-jsonl",
                           "heritrix", "warc");
}

inline std::string preset_test_name(const ::testing::TestParamInfo<std::string>& preset) {
  std::string name = preset.param;
  std::erase(name, '-');
  return name;
}

}  // namespace doppel::testing
