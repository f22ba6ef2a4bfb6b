#pragma once
// Replaces matches of POSIX expressions. (std::regex does not compile with -Werror and AddressSanitizer.)

#include <gtest/gtest.h>
#include <regex.h>

#include <string>

namespace doppel::testing {

// Replaces every match. An empty match fails the test.
inline std::string replaced(const std::string& text, const char* expression, const std::string& by) {
  regex_t compiled;
  EXPECT_EQ(::regcomp(&compiled, expression, REG_EXTENDED), 0) << expression;
  std::string out;
  const char* at = text.c_str();
  for (regmatch_t match; ::regexec(&compiled, at, 1, &match, 0) == 0; at += match.rm_eo) {
    EXPECT_GT(match.rm_eo, match.rm_so) << expression << " matches nothing";
    out.append(at, static_cast<size_t>(match.rm_so)).append(by);
  }
  ::regfree(&compiled);
  return out.append(at);
}

}  // namespace doppel::testing
