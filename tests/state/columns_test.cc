// The header of the state's files: reading returns what was written, and errors say what to do.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "base/bytes.h"
#include "base/checksums.h"
#include "state/columns.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

class FileHeaders : public testing::Test {
 protected:
  absl::StatusOr<FileHeader> read(const std::string& bytes, FileKind kind) {
    const std::string path = dir_ / "file";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const absl::StatusOr<File> file = File::open(path, O_RDONLY);
    return file.ok() ? read_header(*file, kind) : file.status();
  }
  std::string error(const std::string& bytes, FileKind kind = FileKind::hot) {
    const auto header = read(bytes, kind);
    return header.ok() ? std::string() : std::string(header.status().message());
  }

  const TemporaryDirectory dir_;
};

std::string with_checksum(std::string bytes) {
  store(bytes.data() + kFileHeaderBytes - 4, crc32c(bytes.substr(0, kFileHeaderBytes - 4)));
  return bytes;
}

TEST_F(FileHeaders, AreReadAsTheyWereWritten) {
  for (const FileKind kind : {FileKind::hot, FileKind::bodies, FileKind::journal}) {
    FileHeader header{.kind = kind, .num_perm = 128, .mask_words = 2, .epoch = *make_epoch()};
    const std::string bytes = encode_header(header);
    ASSERT_EQ(bytes.size(), kFileHeaderBytes);
    const auto is = read(bytes + "what follows", kind);
    ASSERT_TRUE(is.ok()) << is.status();
    header.version = kind == FileKind::journal ? kJournalVersion : kStateVersion;
    EXPECT_EQ(*is, header);
  }
}

TEST_F(FileHeaders, DamageIsFound) {
  const std::string bytes = encode_header({.num_perm = 128, .mask_words = 2, .epoch = *make_epoch()});
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    EXPECT_FALSE(read(bad, FileKind::hot).ok()) << i;
    EXPECT_FALSE(read(bytes.substr(0, i), FileKind::hot).ok()) << i;
  }
  EXPECT_NE(error(bytes, FileKind::bodies).find("not a state file"), std::string::npos);
  EXPECT_NE(error("").find("not a state file"), std::string::npos);
  EXPECT_NE(error(bytes.substr(0, 20)).find("ends at offset 20"), std::string::npos);
  std::string bad = bytes;
  bad[30] = static_cast<char>(bad[30] ^ 1);
  EXPECT_NE(error(bad).find("the header at offset 0 is damaged"), std::string::npos);
}

// A whole file of another version is not damaged; one whose version was damaged is.
TEST_F(FileHeaders, OtherVersions) {
  std::string bytes = encode_header({.epoch = *make_epoch()});
  for (const uint32_t version : {kStateVersion - 1, kStateVersion + 1}) {
    store(bytes.data() + 8, version);
    EXPECT_EQ(read(bytes, FileKind::hot).status().code(), absl::StatusCode::kDataLoss);
    const absl::Status status = read(with_checksum(bytes), FileKind::hot).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("written in version"), std::string::npos) << status;
  }
  std::string journal = encode_header({.kind = FileKind::journal, .epoch = *make_epoch()});
  for (uint32_t version = 1; version <= kJournalVersion + 1; ++version) {
    store(journal.data() + 8, version);
    EXPECT_EQ(read(with_checksum(journal), FileKind::journal).ok(),
              version > 1 && version <= kJournalVersion);
  }
}

TEST(Epochs, AreRandomUuids) {
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) {
    const std::string epoch = epoch_string(*make_epoch());
    ASSERT_EQ(epoch.size(), 36U);
    for (const size_t dash : {8, 13, 18, 23}) EXPECT_EQ(epoch[dash], '-') << epoch;
    EXPECT_EQ(epoch[14], '4') << epoch;                                          // the version
    EXPECT_NE(std::string("89ab").find(epoch[19]), std::string::npos) << epoch;  // the variant
    all.insert(epoch);
  }
  EXPECT_EQ(all.size(), 100U);
  Epoch epoch;
  for (size_t i = 0; i < epoch.size(); ++i) epoch[i] = static_cast<uint8_t>(16 * i + i);
  EXPECT_EQ(epoch_string(epoch), "00112233-4455-6677-8899-aabbccddeeff");
}

}  // namespace

}  // namespace doppel
