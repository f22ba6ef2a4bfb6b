#pragma once
// Runs the binary as a user would, and returns its output.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace doppel::testing {

namespace fs = std::filesystem;

// A temporary directory for each test, removed at its end.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (fs::temp_directory_path() / "doppel-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// A text of numbered words: "word3 word4" for 3 and 5.
inline std::string numbered_words(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += (i == from ? "word" : " word") + std::to_string(i);
  return out;
}

struct Ran {
  int code = -1;
  std::string out, err;
};

// `arguments` is a part of a shell command: quote where necessary. `environment` precedes the command.
inline Ran run_doppel(const std::string& arguments, const std::string& environment = "") {
  TempDir dir;
  std::string command = environment + " '" DOPPEL_BINARY "' " + arguments + " >'" + (dir / "out") + "' 2>'" +
                        (dir / "err") + "'";
  int status = std::system(command.c_str());  // NOLINT(cert-env33-c)
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = read_file(dir / "out"),
          .err = read_file(dir / "err")};
}

// A build for a sanitizer has no doppel-lab.
#ifdef DOPPEL_HAS_LAB
inline constexpr bool kLab = true;
#else
inline constexpr bool kLab = false;
#endif

// `commands`, followed by those of doppel-lab where there is one.
inline std::vector<std::string> with_lab(std::vector<std::string> commands,
                                         const std::vector<std::string>& of_lab) {
  if (kLab) commands.insert(commands.end(), of_lab.begin(), of_lab.end());
  return commands;
}

}  // namespace doppel::testing
