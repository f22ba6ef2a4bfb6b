#include "http/token.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "base/status.h"

namespace doppel::http {
namespace {

constexpr size_t kLeast = 16;

absl::StatusOr<std::string> checked(std::string token, const std::string& where) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  if (token.size() < kLeast)
    return invalid(where + ": a token has at least 16 characters; make one with: openssl rand -hex 24");
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return invalid(where + ": a token has only printable ASCII characters and no spaces");
  return token;
}

}  // namespace

absl::StatusOr<std::string> load_token(const std::string& setting, const std::string& file,
                                       const std::string& variable) {
  if (const char* text = std::getenv(variable.c_str())) return checked(text, variable);
  if (file.empty()) return std::string();
  std::string line;
  errno = 0;
  std::ifstream in(file);
  if (!in || !std::getline(in, line)) {
    const std::string why = errno != 0 ? std::strerror(errno) : "it is empty";
    return invalid(setting + ": cannot read " + file + ": " + why);
  }
  return checked(std::move(line), setting + " " + file);
}

bool bearer_is(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "bearer ";
  if (token.empty() || authorization.size() < kScheme.size()) return false;
  for (size_t i = 0; i < kScheme.size(); ++i) {
    if ((authorization[i] | 0x20) != (kScheme[i] | 0x20)) return false;
  }
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  // Compares every byte that was sent, so the time depends only on their number.
  unsigned differ = authorization.size() == token.size() ? 0 : 1;
  for (size_t i = 0; i < authorization.size(); ++i) {
    const volatile unsigned pair =
        static_cast<unsigned char>(authorization[i]) ^ static_cast<unsigned char>(token[i % token.size()]);
    differ |= pair;
  }
  return differ == 0;
}

}  // namespace doppel::http
