#include "state/columns.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <thread>

#include "state/state_dir.h"
#include "support.h"

namespace {

thread_local bool has_unnamed_files = true;

}  // namespace

// This program's own, in place of the library's.
extern "C" int open(const char* path, int flags, ...) {
  const bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = unnamed || (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (unnamed && !has_unnamed_files) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

namespace doppel::state_test {
namespace {

std::string text_of(uint64_t number, size_t size) {
  std::string text(size, '\0');
  std::mt19937_64 random(number);
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class AnyBodies : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Bodies> make() {
    if (GetParam()) return memory_bodies();
    auto bodies = temporary_bodies("");
    EXPECT_TRUE(bodies.ok()) << bodies.status();
    return *std::move(bodies);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, AnyBodies, testing::Values(true, false),
                         [](const auto& kind) { return kind.param ? "memory" : "file"; });

TEST_P(AnyBodies, RoundTrip) {
  const auto bodies = make();
  std::mt19937_64 random(1);
  std::vector<BodyRef> refs;
  std::vector<std::pair<std::string, std::string>> model;
  uint64_t bytes = 0;
  for (int i = 0; i < 300; ++i) {
    const size_t scale = i % 50 == 0 ? 6'000'000 : i % 10 == 0 ? 100'000 : 900;
    model.emplace_back(text_of(random(), random() % (scale / 4)), text_of(random(), random() % scale));
    if (i % 7 == 0) model.back().first.clear();
    if (i % 11 == 0) model.back().second.clear();
    const auto ref = bodies->append({model.back().first, model.back().second});
    ASSERT_TRUE(ref.ok()) << ref.status();
    EXPECT_GT(ref->size, 0u);
    refs.push_back(*ref);
    bytes += ref->size;
    if (i % 17 == 0) {
      ASSERT_TRUE(bodies->flush().ok());
    }
  }
  EXPECT_EQ(bodies->bytes(), bytes);
  std::string buffer;
  for (size_t i = 0; i < refs.size(); ++i) {
    const auto body = bodies->read(refs[i], buffer);
    ASSERT_TRUE(body.ok()) << body.status();
    EXPECT_TRUE(body->metadata == model[i].first && body->coded_set == model[i].second) << i;
  }
  EXPECT_EQ(bodies->read({}, buffer)->metadata, "");
  EXPECT_FALSE(bodies->read({.offset = bytes + 100'000'000, .size = 10}, buffer).ok());
}

TEST_P(AnyBodies, TheLargest) {
  const auto bodies = make();
  const std::string large((size_t{1} << 24) - 100, 'x');
  const auto ref = bodies->append({"m", large});
  ASSERT_TRUE(ref.ok());
  std::string buffer;
  EXPECT_EQ(bodies->read(*ref, buffer)->coded_set, large);
  EXPECT_FALSE(bodies->append({"m", large + std::string(100, 'x')}).ok());
  const auto small = bodies->append({"m", "s"});
  EXPECT_EQ(bodies->read(*small, buffer)->coded_set, "s");
}

// One thread appends and flushes, and others read the published bodies: they must see exactly the appended
// bytes.
TEST_P(AnyBodies, ReadersBesideTheWriter) {
  constexpr uint64_t kBodies = 30'000;
  const auto bodies = make();
  std::vector<std::atomic<uint64_t>> offsets(kBodies);
  std::vector<uint32_t> sizes(kBodies);
  std::atomic<uint64_t> published = 0;
  std::atomic<uint64_t> wrong = 0;
  const auto body_of = [](uint64_t i) {
    return std::pair(std::to_string(i), std::string(100 + i % 900, static_cast<char>('a' + i % 26)));
  };
  std::vector<std::thread> readers;
  for (uint64_t r = 0; r < 3; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937_64 random(r);
      std::string buffer;
      uint64_t limit = 0;
      while (limit < kBodies) {
        limit = published.load(std::memory_order_acquire);
        if (limit == 0) continue;
        // Mostly the newest: these are in memory or are just being flushed, which takes a while for 500.
        const uint64_t i =
            random() % 4 == 0 ? random() % limit : limit - 1 - random() % std::min<uint64_t>(limit, 500);
        const auto body = bodies->read({.offset = offsets[i].load(), .size = sizes[i]}, buffer);
        const auto [metadata, set] = body_of(i);
        if (!body.ok() || body->metadata != metadata || body->coded_set != set) ++wrong;
      }
    });
  }
  for (uint64_t i = 0; i < kBodies; ++i) {
    const auto [metadata, set] = body_of(i);
    const BodyRef ref = *bodies->append({metadata, set});
    offsets[i] = ref.offset;
    sizes[i] = ref.size;
    published.store(i + 1, std::memory_order_release);
    if (i % 500 == 0) {
      EXPECT_TRUE(bodies->flush().ok());
    }
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(BodiesFile, CountsReadsOfTheFileOnly) {
  const auto bodies = *temporary_bodies(testing::TempDir());
  const BodyRef ref = *bodies->append({"m", "s"});
  std::string buffer;
  ASSERT_TRUE(bodies->read(ref, buffer).ok());
  EXPECT_EQ(bodies->reads(), 0u);
  ASSERT_TRUE(bodies->flush().ok());
  ASSERT_TRUE(bodies->read(ref, buffer).ok());
  EXPECT_EQ(bodies->reads(), 1u);
}

// References have 40 bits for the offset.
TEST(BodiesFile, AFullFileIsAnError) {
  const TempDir dir;
  const auto at = [&](uint64_t end) {
    auto file = File::open(dir.file("bodies"), O_RDWR | O_CREAT);
    EXPECT_TRUE(file.ok());
    return BodiesFile(*std::move(file), end);
  };
  BodiesFile room = at(BodiesFile::kOffsetEnd - 100);
  const auto last = room.append({.metadata = "m", .coded_set = "s"});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->offset, BodiesFile::kOffsetEnd - 100);
  BodiesFile full = at(BodiesFile::kOffsetEnd - 5);
  const absl::Status status = full.append({.metadata = "m", .coded_set = "s"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("is full at"));
}

TEST(BodiesFile, DamageIsAnErrorThatNamesThePlace) {
  const TempDir dir;
  const std::string path = dir.file("bodies");
  BodiesFile bodies(*File::open(path, O_RDWR | O_CREAT), 0);
  ASSERT_TRUE(bodies.append({"before", "set"}).ok());
  const BodyRef ref = *bodies.append({"metadata", "coded set"});
  ASSERT_TRUE(bodies.flush().ok());
  const std::string good = read_file(path);
  std::string buffer;
  for (size_t i = 0; i < ref.size; ++i) {
    std::string bad = good;
    bad[ref.offset + i] = static_cast<char>(bad[ref.offset + i] ^ 0x10);
    ASSERT_TRUE(bodies.file().write_at(0, bad).ok());
    const auto body = bodies.read(ref, buffer);
    ASSERT_EQ(body.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(body.status().message()),
                testing::AllOf(testing::HasSubstr(path), testing::HasSubstr(std::to_string(ref.offset))));
  }
  ASSERT_TRUE(bodies.file().write_at(0, good).ok());
  EXPECT_TRUE(bodies.read(ref, buffer).ok());
  EXPECT_FALSE(bodies.read({.offset = ref.offset, .size = 3}, buffer).ok());
  EXPECT_FALSE(bodies.read({.offset = ref.offset + 1, .size = ref.size - 1}, buffer).ok());
}

// Some file systems have only files with names: such a file loses its name at once.
TEST(TemporaryBodies, NeedNoUnnamedFile) {
  const TempDir dir;
  has_unnamed_files = false;
  const auto bodies = temporary_bodies(dir.path());
  has_unnamed_files = true;
  ASSERT_TRUE(bodies.ok()) << bodies.status();
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  const BodyRef body = (*bodies)->append({.metadata = "m", .coded_set = "s"}).value();
  std::string buffer;
  EXPECT_EQ((*bodies)->read(body, buffer)->metadata, "m");
}

TEST(BodiesFile, ADirectoryThatIsNotThere) {
  const auto bodies = temporary_bodies("/nowhere/at/all");
  EXPECT_THAT(std::string(bodies.status().message()), testing::HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace doppel::state_test
