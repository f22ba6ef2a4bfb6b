// Each bit of the metadata of Parquet and Arrow files may be wrong: the reader gives all rows, or says that
// it does not.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "files/arrow/flat_buffer.h"
#include "files/tables_testing.h"

namespace doppel {
namespace {

const std::string kData = DOPPEL_SOURCE_DIR "/tests/files/data/";

struct Metadata {
  size_t begin = 0, end = 0;  // offsets in the file
  bool once = false;  // its names and types stand nowhere else, so only the number of rows is compared
};

// Reads the file once for each bit of these bytes. Returns the bits whose flip changes the rows without a
// message.
std::vector<std::string> silent_flips(const std::string& path, const std::vector<Metadata>& parts) {
  TemporaryDirectory d;
  const std::string whole = read_back(path), changed = d / std::filesystem::path(path).filename().string();
  const std::vector<std::string> wanted = values_of(take_all(of(path)));
  write_file(changed, whole);
  std::fstream file(changed, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](size_t at, int byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte));
    file.flush();
  };
  std::vector<std::string> out;
  for (const Metadata& part : parts) {
    for (size_t bit = 8 * part.begin; bit < 8 * part.end; ++bit) {
      put(bit / 8, whole[bit / 8] ^ 1 << bit % 8);
      const Taken taken = take_all(of(changed));
      put(bit / 8, whole[bit / 8]);
      if (!taken.problems.empty()) continue;
      const std::vector<std::string> values = values_of(taken);
      if (part.once ? values.size() == wanted.size() : values == wanted) continue;
      out.push_back(
          fmt::format("byte {} bit {}: {} of {} rows", bit / 8, bit % 8, values.size(), wanted.size()));
    }
  }
  EXPECT_EQ(values_of(take_all(of(changed))), wanted);
  return out;
}

Metadata footer_of_parquet(const std::string& path) {
  const std::string whole = read_back(path);
  constexpr size_t kTail = 8;
  return {.begin = whole.size() - kTail - load<uint32_t>(whole.data() + whole.size() - kTail),
          .end = whole.size()};
}

// The messages of an Arrow stream: length and metadata of each, and its end.
std::vector<Metadata> messages_of_stream(const std::string& path) {
  const std::string whole = read_back(path);
  constexpr size_t kPrefix = 8;
  std::vector<Metadata> out;
  for (size_t at = 0; at < whole.size();) {
    const size_t end = at + kPrefix + load<uint32_t>(whole.data() + at + kPrefix / 2);
    out.push_back({.begin = at, .end = end, .once = at == 0});
    if (end == at + kPrefix) break;
    arrow::FlatBuffer buffer(std::string_view(whole).substr(at + kPrefix, end - at - kPrefix));
    at = end + static_cast<size_t>(arrow::FlatTable::root(buffer).number<int64_t>(3));
  }
  return out;
}

Metadata footer_of_arrow(const std::string& path) {
  const std::string whole = read_back(path);
  constexpr size_t kTail = 10;
  return {.begin = whole.size() - kTail - load<uint32_t>(whole.data() + whole.size() - kTail),
          .end = whole.size()};
}

TEST(Flips, OfAnArrowFooterLoseNoRowInSilence) {
  const std::string path = kData + "arrow/file_none.arrow";
  EXPECT_THAT(silent_flips(path, {footer_of_arrow(path)}), testing::IsEmpty());
}

TEST(Flips, OfMessagesOfAnArrowStreamLoseNoRowInSilence) {
  const std::string path = kData + "arrow/stream_none.arrow";
  const std::vector<Metadata> messages = messages_of_stream(path);
  ASSERT_THAT(messages, testing::SizeIs(5));  // schema, three batches, end
  EXPECT_THAT(silent_flips(path, messages), testing::IsEmpty());
}

TEST(Flips, OfAParquetFooterLoseNoRowInSilence) {
  const std::string path = kData + "parquet/dictionary.parquet";
  EXPECT_THAT(silent_flips(path, {footer_of_parquet(path)}), testing::IsEmpty());
}

}  // namespace
}  // namespace doppel
