#pragma once
// Files of tables, and the records that were read from them.

#include <string>
#include <vector>

#include "files/files_testing.h"
#include "formats/decoder.h"

namespace doppel {

inline FilesSourceOptions of(const std::string& path, const FormatOptions& format = {}) {
  return {.paths = {path}, .columns = format};
}

inline std::vector<std::string> values_of(const Taken& taken) {
  std::vector<std::string> out;
  for (const InputLine& line : taken.lines) out.push_back(line.value);
  return out;
}

inline std::vector<std::string> messages_of(const Taken& taken) {
  std::vector<std::string> out;
  for (const Problem& problem : taken.problems) out.push_back(problem.message);
  return out;
}

inline std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> out;
  for (const InputLine& line : split_lines(read_back(path))) out.push_back(line.value);
  return out;
}

}  // namespace doppel
