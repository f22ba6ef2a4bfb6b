// Replaces libFuzzer: passes each file of the folders on the command line to the target, first the whole
// file, then its beginnings, because parsers break there.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {
int run(const char* const* folders, int count) {
  int files = 0;
  for (int i = 0; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(folders[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      const size_t step = bytes.size() / 50 + 1;
      for (size_t size = bytes.size() % step; size <= bytes.size(); size += step) {
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), size);
      }
      ++files;
    }
  }
  std::printf("%d seeds\n", files);
  return files == 0 ? 1 : 0;
}
}  // namespace

int main(int argc, char** argv) { return run(argv + 1, argc - 1); }
