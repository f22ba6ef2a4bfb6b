#include "kafka/topic_pattern.h"

#include <array>
#include <utility>

#include "base/status.h"

namespace doppel::kafka {

absl::StatusOr<TopicPattern> TopicPattern::compile(const std::string& expression) {
  auto compiled = std::make_unique<regex_t>();
  if (const int code = ::regcomp(compiled.get(), expression.c_str(), REG_EXTENDED); code != 0) {
    std::array<char, 256> reason{};
    ::regerror(code, compiled.get(), reason.data(), reason.size());
    return invalid(expression + ": not a regular expression: " + reason.data());
  }
  TopicPattern out;
  out.compiled_.reset(compiled.release());
  return out;
}

// regexec returns the match that begins first, so a match at 0 is found if there is one.
bool TopicPattern::fits(const std::string& topic) const {
  std::array<regmatch_t, 1> match{};
  return ::regexec(compiled_.get(), topic.c_str(), match.size(), match.data(), 0) == 0 && match[0].rm_so == 0;
}

}  // namespace doppel::kafka
