// Every fixture in data/PRESET/ follows the output of its producer (named in the file PRODUCER): NAME.in is
// the record's value, NAME.key its key, NAME.document the expected document. DOPPEL_WRITE_GOLDEN=1 writes
// missing documents.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/status.h"
#include "formats/decoder.h"
#include "formats/preset_names.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string shown(const absl::Status& status, const Document& d) {
  if (!status.ok()) return fmt::format("rejected: {}\n", std_sv(status.message()));
  std::string out;
  auto line = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) out += fmt::format("{}: {}\n", name, value);
  };
  line("skip", d.skip == Reason::none ? "" : message_of(d.skip));
  line("id", d.id);
  line("url", d.url);
  line("date", d.timestamp_ms ? format_time(*d.timestamp_ms) : "");
  line("scope", d.scope);
  line("tags", d.tags);
  line("passthrough", d.passthrough);
  line("content_type", d.content_type);
  line("payload_digest", d.payload_digest);
  if (d.warc) {
    line("warc.record_id", d.warc->record_id);
    line("warc.target_uri", d.warc->target_uri);
    line("warc.date", d.warc->date);
    line("warc.filename", d.warc->filename);
    line("warc.offset", d.warc->offset ? fmt::format("{}", *d.warc->offset) : "");
  }
  line("text", d.text);
  return out;
}

std::string decoded(const std::string& preset, const std::string& value,
                    const std::optional<std::string>& key) {
  FormatOptions options;
  options.format = preset;
  if (preset == "heritrix") {
    options.scope_fields = {"/collection_id"};
    options.tag_fields = {"crawl=/crawl_name"};
    options.passthrough_fields = {"/seed", "hops=hop_path"};
  }
  EXPECT_TRUE(check_format(options).ok());
  std::string memory = value + std::string(kRecordPadding, '\0');
  Record record;
  record.value = std::string_view(memory).substr(0, value.size());
  if (key) record.key = *key;
  Document document;
  auto decoder = make_decoder(options);
  absl::Status status = decoder->decode(record, document);
  return shown(status, document);
}

class Presets : public ::testing::TestWithParam<std::string> {};

TEST_P(Presets, AreDecodedAsTheirProducersMeanThem) {
  const fs::path folder = fs::path(DOPPEL_SOURCE_DIR) / "tests/formats/data" / GetParam();
  size_t cases = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".in") continue;
    ++cases;
    fs::path key_path = entry.path();
    key_path.replace_extension(".key");
    fs::path golden = entry.path();
    golden.replace_extension(".document");
    std::optional<std::string> key;
    if (fs::exists(key_path)) key = read_file(key_path);
    const std::string got = decoded(GetParam(), read_file(entry.path()), key);
    if (!fs::exists(golden) && std::getenv("DOPPEL_WRITE_GOLDEN") != nullptr) {
      std::ofstream(golden, std::ios::binary) << got;
    }
    EXPECT_EQ(got, read_file(golden)) << entry.path();
  }
  EXPECT_GT(cases, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Presets, testing::presets_with_fixtures(), testing::preset_test_name);

}  // namespace
}  // namespace doppel
