#pragma once
// The files of old originals in a state directory.

#include <filesystem>
#include <string>
#include <vector>

namespace doppel::testing {

inline std::vector<std::filesystem::path> segments_of(const std::string& state) {
  namespace fs = std::filesystem;
  std::vector<fs::path> out;
  for (const auto& folder : fs::directory_iterator(state)) {
    if (!folder.path().filename().string().starts_with("segments-")) continue;
    for (const auto& file : fs::directory_iterator(folder.path())) out.push_back(file.path());
  }
  return out;
}

}  // namespace doppel::testing
