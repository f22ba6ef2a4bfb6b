#include "state/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace doppel {
namespace {

std::map<std::string_view, std::string_view> parse(std::string_view lines) {
  std::map<std::string_view, std::string_view> values;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    values[line.substr(0, equals)] = equals == std::string_view::npos ? "" : line.substr(equals + 1);
  }
  return values;
}

}  // namespace

std::vector<std::string> scheme_differences(std::string_view stored, std::string_view now) {
  const auto before = parse(stored);
  const auto after = parse(now);
  std::vector<std::string> out;
  for (const auto& [name, value] : before) {
    const auto other = after.find(name);
    if (other == after.end()) {
      out.push_back(fmt::format("{}: the index was made with {}, now it is not set", name, value));
    } else if (other->second != value) {
      std::string line = fmt::format("{}: the index was made with {}, now {}", name, value, other->second);
      if (name == "hash_key_fingerprint")
        line += "; its key belongs in hash.key of the state directory, or in hash_key_file";
      out.push_back(std::move(line));
    }
  }
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) {
      out.push_back(fmt::format("{}: the index was made without it, now {}", name, value));
    }
  }
  return out;
}

std::vector<std::string> rule_differences(std::string_view stored, std::string_view now,
                                          const std::vector<std::string>& accepted) {
  std::vector<std::string> out = scheme_differences(stored, now);
  std::erase_if(out, [&](const std::string& difference) {
    const std::string name = difference.substr(0, difference.find(':'));
    const bool shapes = name == "bands" || name == "rows";
    return !shapes && std::find(accepted.begin(), accepted.end(), name) != accepted.end();
  });
  return out;
}

}  // namespace doppel
