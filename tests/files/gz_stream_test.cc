// gzip members, whichever library unpacks them: small whole ones at once, all others as their bytes come.

#include <fcntl.h>
#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <thread>

#include "files/byte_stream.h"
#include "packed.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

struct Member {
  uint64_t at;
  std::string text;
};
struct Result {
  std::vector<Member> members;
  std::string error;
  std::string text() const {
    std::string out;
    for (const Member& member : members) out += member.text;
    return out;
  }
};

Result read_all(ByteStream& stream, size_t step) {
  Result out;
  std::string buffer(step, '\0');
  for (;;) {
    const absl::StatusOr<size_t> got = stream.read(buffer.data(), buffer.size());
    if (!got.ok()) {
      out.error = got.status().ToString();
      return out;
    }
    if (*got == 0) return out;
    if (stream.stored_at()) out.members.push_back({*stream.stored_at(), ""});
    out.members.back().text.append(buffer, 0, *got);
  }
}

std::unique_ptr<ByteStream> open_file(const std::string& path) {
  return make_byte_stream(Fd(::open(path.c_str(), O_RDONLY)), Packing::gz,
                          std::make_shared<std::atomic<uint64_t>>());
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Bytes that pack to about half.
std::string some(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out(size, ' ');
  for (char& c : out) c = static_cast<char>('a' + random() % 16);
  return out;
}

// Members below and above each limit: what is looked at ahead, the first room and the most room for unpacked
// bytes.
const std::vector<std::string>& members() {
  static const std::vector<std::string> all = {some(10, 1),
                                               "",
                                               some(100'000, 2),
                                               some(300'000, 3),
                                               std::string(900'000, 'z'),
                                               some(700'000, 4),
                                               some(1, 5),
                                               std::string(8'000'000, 'y'),
                                               some(3'000'000, 6),
                                               some(60'000, 7),
                                               std::string(4'194'304, 'x'),
                                               std::string(4'194'305, 'w'),
                                               some(5, 8)};
  return all;
}

TEST(GzStream, MembersOfEachSizeKeepTheirPlaces) {
  TemporaryDirectory d;
  std::string packed, all;
  std::vector<uint64_t> places;
  for (const std::string& member : members()) {
    if (!member.empty()) places.push_back(packed.size());
    packed += gz(member);
    all += member;
  }
  write_bytes(d / "a.gz", packed);
  for (const size_t step : {size_t{1} << 20, size_t{4096}, size_t{65537}}) {
    const Result result = read_all(*open_file(d / "a.gz"), step);
    EXPECT_EQ(result.error, "");
    EXPECT_TRUE(result.text() == all);
    std::vector<uint64_t> found;
    for (const Member& member : result.members) {
      if (!member.text.empty()) found.push_back(member.at);
    }
    EXPECT_EQ(found, places);
  }
}

TEST(GzStream, APipeGivesTheSame) {
  std::string packed, all;
  for (const std::string& member : members()) {
    packed += gz(member);
    all += member;
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    for (size_t at = 0; at < packed.size();) {
      const ssize_t done = ::write(ends[1], packed.data() + at, std::min<size_t>(7919, packed.size() - at));
      if (done <= 0) break;
      at += static_cast<size_t>(done);
    }
    ::close(ends[1]);
  });
  auto stream = make_byte_stream(Fd(ends[0]), Packing::gz, std::make_shared<std::atomic<uint64_t>>());
  const Result result = read_all(*stream, 100'000);
  writer.join();
  EXPECT_EQ(result.error, "");
  EXPECT_TRUE(result.text() == all);
}

// All that is before the damage is given, and reading goes on behind it.
TEST(GzStream, ADamagedMemberIsReadUpToTheDamage) {
  TemporaryDirectory d;
  const std::string before = some(20'000, 1), damaged = some(100'000, 2), behind = some(30'000, 3);
  const std::string head = gz(before), tail = gz(behind);
  for (const bool checksum : {true, false}) {
    std::string middle = gz(damaged);
    if (checksum) {
      middle[middle.size() - 6] = static_cast<char>(~middle[middle.size() - 6]);
    } else {
      for (size_t i = 40'000; i < 40'040; ++i) middle[i] = static_cast<char>(~middle[i]);
    }
    write_bytes(d / "a.gz", head + middle + tail);
    auto stream = open_file(d / "a.gz");
    const Result result = read_all(*stream, 4096);
    EXPECT_THAT(result.error, testing::HasSubstr("damaged gz data"));
    ASSERT_EQ(result.members.size(), 2u);
    EXPECT_EQ(result.members[0].text, before);
    EXPECT_EQ(result.members[1].at, head.size());
    const std::string& got = result.members[1].text;
    EXPECT_TRUE(damaged.starts_with(std::string_view(got).substr(0, 30'000)));
    if (checksum) {
      EXPECT_EQ(got, damaged);
    }
    const auto skipped = stream->resume([&](std::string_view begin) { return behind.starts_with(begin); });
    EXPECT_EQ(skipped, middle.size());
    EXPECT_EQ(read_all(*stream, 4096).text(), behind);
  }
}

TEST(GzStream, AMemberThatIsCutOffGivesWhatIsThere) {
  TemporaryDirectory d;
  const std::string whole = some(20'000, 1), cut = some(100'000, 2);
  const std::string packed = gz(whole) + gz(cut);
  write_bytes(d / "a.gz", packed.substr(0, packed.size() - 5'000));
  const Result result = read_all(*open_file(d / "a.gz"), 4096);
  EXPECT_THAT(result.error, testing::HasSubstr("the gz data ends too early"));
  ASSERT_EQ(result.members.size(), 2u);
  EXPECT_GT(result.members[1].text.size(), 80'000u);
  EXPECT_TRUE(cut.starts_with(result.members[1].text));
}

}  // namespace
}  // namespace doppel
