#include "files/follow/follow_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <atomic>
#include <map>
#include <random>
#include <set>

#include "files/byte_stream.h"
#include "files/files_testing.h"
#include "files/position.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Delivered {
  std::string event, text;
  bool operator==(const Delivered&) const = default;
};
void PrintTo(const Delivered& d, std::ostream* out) { *out << d.event << "=" << d.text; }

// A followed source, and its results.
class Followed {
 public:
  explicit Followed(FollowOptions options, std::string from = "") : options_(std::move(options)) {
    open(std::move(from));
  }
  void open(std::string from) {
    source_.reset();
    auto source = open_follow_source(options_, from);
    ASSERT_TRUE(source.ok()) << source.status();
    source_ = *std::move(source);
    position = std::move(from);
  }
  // Reads one batch. Returns false at the end.
  bool next() {
    Batch batch;
    auto more = source_->next(batch);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) return false;
    last = batch.records.size() + batch.problems.size();
    for (const Record& r : batch.records) {
      std::string text(r.value);
      if (r.pieces) {
        for (auto piece = r.pieces->next(); piece.ok() && !piece->empty(); piece = r.pieces->next())
          text += *piece;
      }
      documents.push_back({std::string(r.source) + "/" + std::to_string(r.offset), text});
    }
    for (const Problem& p : batch.problems) problems.push_back(p.message);
    if (last > 0) position = batch.position;
    return true;
  }
  // Waits until this many have come in total; then nothing more may come at once.
  void await(size_t count) {
    for (int i = 0; i < 600 && documents.size() + problems.size() < count; ++i) next();
    EXPECT_EQ(documents.size() + problems.size(), count);
  }
  void nothing_comes() {
    next();
    EXPECT_EQ(last, 0u);
  }

  std::vector<Delivered> documents;
  std::vector<std::string> problems;
  std::string position;
  size_t last = 0;

 private:
  FollowOptions options_;
  std::unique_ptr<Source> source_;
};

class Follow : public testing::TestWithParam<bool> {
 protected:
  // poll: as if the system reported nothing.
  FollowOptions following(std::vector<std::string> paths) const {
    FollowOptions options;
    options.files.paths = std::move(paths);
    options.finder = {.settle = milliseconds(20), .poll = GetParam(), .search_every = milliseconds(10)};
    return options;
  }
  TemporaryDirectory dir;
};
INSTANTIATE_TEST_SUITE_P(Ways, Follow, testing::Bool(),
                         [](auto& way) { return way.param ? "polled" : "told"; });

TEST_P(Follow, DocumentsDroppedIntoADirectory) {
  const std::string in = dir / "in";
  write_file(in + "/a.txt", "first");  // so it settles first
  write_file(in + "/b.txt", "second");
  write_file(in + "/.hidden", "no");
  write_file(in + "/c.txt.part", "not yet");
  Followed f(following({in}));
  f.await(2);
  EXPECT_THAT(f.documents,
              ElementsAre(Delivered{in + "/a.txt/0", "first"}, Delivered{in + "/b.txt/0", "second"}));
  fs::rename(in + "/c.txt.part", in + "/c.txt");
  f.await(3);
  write_file(in + "/new/deeper/d.txt", "fourth");
  f.await(4);
  write_file(in + "/one.json", R"({"text":"x"})");  // no line end, but complete
  f.await(5);
  EXPECT_EQ(f.documents[4], (Delivered{in + "/one.json/0", R"({"text":"x"})"}));
  write_file(in + "/p.jsonl.gz", gz("1\n2\n"));
  f.await(7);
  f.nothing_comes();

  // Renamed, or closed without a change: nothing new. With another text: another document.
  fs::rename(in + "/a.txt", in + "/z.txt");
  fs::rename(in + "/p.jsonl.gz", in + "/q.jsonl.gz");
  write_file(in + "/b.txt", "second");
  f.nothing_comes();
  write_file(in + "/b.txt", "changed");
  f.await(8);
  EXPECT_EQ(f.documents[7], (Delivered{in + "/b.txt~1/0", "changed"}));

  Followed again(following({in}), f.position);
  again.nothing_comes();
  write_file(in + "/e.txt", "fifth");
  again.await(1);
  EXPECT_EQ(again.documents[0].text, "fifth");
}

TEST_P(Follow, AnMboxFileIsReadMessageByMessageAndMayGrow) {
  const std::string in = dir / "in";
  const auto message = [](const std::string& text) {
    return "From a@b Mon May  6 07:08:09 2024\nSubject: x\n\n" + text + "\n";
  };
  write_file(in + "/a.mbox", message("one") + "\n" + message("two") + "\n");
  Followed f(following({in}));
  f.await(2);
  EXPECT_THAT(f.problems, IsEmpty());
  const std::string second = std::to_string(message("one").size() + 1);
  EXPECT_THAT(f.documents, ElementsAre(Delivered{in + "/a.mbox/0", message("one")},
                                       Delivered{in + "/a.mbox/" + second, message("two")}));
  f.open(f.position);
  f.nothing_comes();
  write_file(in + "/a.mbox", message("three"), true);
  f.await(3);
  EXPECT_EQ(f.documents.back().text + "\n", message("three"));
}

TEST_P(Follow, AFileThatWasDeletedIsForgotten) {
  const std::string in = dir / "in";
  write_file(in + "/a.txt", "text");
  Followed f(following({in}));
  f.await(1);
  fs::remove(in + "/a.txt");
  if (GetParam())
    f.nothing_comes();  // a file that was deleted and made again between two looks looks unchanged
  for (int i = 0; GetParam() && i < 25; ++i) f.next();
  write_file(in + "/b.txt", "text");  // most likely with the same inode
  f.await(2);
}

TEST_P(Follow, ALineCountsWhenItsEndIsThere) {
  const std::string log = dir / "log.jsonl";
  Followed f(following({log}));  // does not exist yet
  f.nothing_comes();
  write_file(log, "one\ntw");
  f.await(1);
  f.nothing_comes();
  write_file(log, "o", true);
  f.nothing_comes();
  write_file(log, "\nthree\n", true);
  f.await(3);
  EXPECT_THAT(f.documents, ElementsAre(Delivered{log + "/0", "one"}, Delivered{log + "/4", "two"},
                                       Delivered{log + "/8", "three"}));
  write_file(log, "fo", true);
  f.nothing_comes();
  Followed again(following({log}), f.position);
  again.nothing_comes();
  write_file(log, "ur\n", true);
  again.await(1);
  EXPECT_EQ(again.documents[0], (Delivered{log + "/14", "four"}));
}

TEST_P(Follow, RotatedAway) {
  const std::string log = dir / "log.jsonl";
  write_file(log, "one\n");
  Followed f(following({log}));
  f.await(1);
  write_file(log, "two\nthr", true);
  fs::rename(log, dir / "log.jsonl.1");
  write_file(log, "four\n");
  write_file(dir / "log.jsonl.1", "ee\n", true);  // its writer still has it open
  f.await(4);
  EXPECT_THAT(f.documents, ElementsAre(Delivered{log + "/0", "one"}, Delivered{log + "/4", "two"},
                                       Delivered{log + "/8", "three"}, Delivered{log + "~1/0", "four"}));
}

TEST_P(Follow, RotatedWhileNobodyLooked) {
  const std::string log = dir / "log.jsonl";
  write_file(log, "one\n");
  Followed f(following({log}));
  f.await(1);
  write_file(log, "two\nhalf", true);
  fs::rename(log, dir / "log.jsonl.1");
  write_file(log, "three\n");
  f.open(f.position);
  f.await(4);
  // The order of the two files is kept. Half a line is judged when its file is left for good.
  EXPECT_EQ(f.documents[1], (Delivered{log + "/4", "two"}));
  EXPECT_EQ(f.documents[2], (Delivered{log + "~1/0", "three"}));
  EXPECT_EQ(f.documents[3], (Delivered{log + "/8", "half"}));
  f.open(f.position);
  f.nothing_comes();
}

TEST_P(Follow, CutInPlaceIsSaid) {
  const std::string log = dir / "log.jsonl";
  write_file(log, "one\ntwo\n");
  Followed f(following({log}));
  f.await(2);
  write_file(log, "three\n");
  f.await(4);
  EXPECT_EQ(f.documents[2], (Delivered{log + "~1/0", "three"}));
  EXPECT_THAT(f.problems, ElementsAre(HasSubstr("line 2, byte 8: the file was truncated or overwritten")));
  write_file(log, "other\nlonger\n");  // not shorter: its head shows the change
  f.await(7);
  EXPECT_EQ(f.documents[4], (Delivered{log + "~2/6", "longer"}));
}

TEST_P(Follow, CutWhileNobodyLooked) {
  const std::string log = dir / "log.jsonl";
  write_file(log, "");
  Followed f(following({log}));
  f.nothing_comes();
  write_file(log, "one\ntwo\n", true);
  f.await(2);
  write_file(log, "three\nfour\nfive\n");
  f.open(f.position);
  f.await(6);
  EXPECT_EQ(f.documents[2], (Delivered{log + "~1/0", "three"}));
  EXPECT_EQ(f.problems.size(), 1u);
}

TEST_P(Follow, WhatWasInterruptedAndIsGoneIsSaid) {
  const std::string log = dir / "log.jsonl";
  write_file(log, "1\n2\n3\n4\n");
  FollowOptions options = following({log});
  options.files.batch_records = 2;
  Followed f(options);
  f.next();
  fs::remove(log);
  f.open(f.position);
  f.next();
  EXPECT_THAT(f.problems,
              ElementsAre(HasSubstr("log.jsonl: line 2, byte 4: the last run was interrupted here")));
}

TEST_P(Follow, GoesOnBehindWhatAScanHasRead) {
  const std::string in = dir / "in";
  write_file(in + "/a.txt", "text");
  write_file(in + "/b.jsonl", "1\n2\n");
  write_file(in + "/c.jsonl.gz", gz("3\n"));
  FilesSourceOptions scanning;
  scanning.paths = {in};
  const Taken scanned = take_all(scanning);
  ASSERT_EQ(scanned.lines.size(), 4u);
  Followed f(following({in}), scanned.positions.back());
  f.nothing_comes();
  write_file(in + "/b.jsonl", "4\n", true);
  f.await(1);
  EXPECT_EQ(f.documents[0], (Delivered{in + "/b.jsonl/4", "4"}));
  // And the other way round.
  EXPECT_THAT(take_all(scanning, f.position).lines, IsEmpty());
}

TEST_P(Follow, APipe) {
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Followed f(following({pipe}));
  f.nothing_comes();
  Fd writer(::open(pipe.c_str(), O_WRONLY));
  ASSERT_EQ(::write(writer.get(), "one\ntw", 6), 6);
  f.await(1);
  f.nothing_comes();
  ASSERT_EQ(::write(writer.get(), "o\n", 2), 2);
  f.await(2);
  EXPECT_EQ(f.documents[1].text, "two");
}

TEST_P(Follow, AMissingDirectoryIsAnError) {
  EXPECT_THAT(open_follow_source(following({dir / "no/such.jsonl"}), "").status().ToString(),
              HasSubstr("neither a file nor its directory"));
  EXPECT_FALSE(open_follow_source(following({}), "").ok());
  EXPECT_FALSE(open_follow_source(following({dir.path()}), "DFF\1rubbish").ok());
}

// Truncated, and written again with the same number of bytes before anybody looked.
TEST_P(Follow, AFileCutToTheSameLengthIsReadAnew) {
  const std::string log = dir / "log.jsonl";
  write_file(log, "one\n");
  Followed f(following({log}));
  f.await(1);
  for (const char* line : {"two\n", "six\n", "ten\n"}) {
    write_file(log, line);
    f.documents.clear();
    f.problems.clear();
    f.await(2);  // the document, and the message about the truncation
    ASSERT_EQ(f.documents.size(), 1u);
    EXPECT_EQ(f.documents[0].text + "\n", line);
    ASSERT_EQ(f.problems.size(), 1u);
    EXPECT_THAT(f.problems[0], HasSubstr("was truncated or overwritten"));
  }
  f.nothing_comes();
}

// All lines of each except the first were written while nobody looked.
TEST_P(Follow, WhatIsLeftOfRotatedLogsComesInTheirOrder) {
  const std::string log = dir / "log.jsonl";
  FollowOptions options = following({log});
  options.finder.settle = std::chrono::minutes(1);
  options.files.batch_records = 1;
  constexpr int kLogs = 12;  // enough for names of different lengths
  const auto line = [](int of, int n) { return std::to_string(of * 10 + n) + "\n"; };
  std::string position;
  {
    Followed f(options);
    for (int i = 0; i < kLogs; ++i) {
      write_file(log, line(i, 0));
      f.await(static_cast<size_t>(i) + 1);
      if (i + 1 < kLogs) fs::rename(log, log + "." + std::to_string(i));
    }
    position = f.position;
  }
  fs::rename(log, log + "." + std::to_string(kLogs - 1));
  for (int i = 0; i < kLogs; ++i) {
    for (int n = 1; n < 4; ++n) write_file(log + "." + std::to_string(i), line(i, n), true);
  }
  write_file(log, line(kLogs, 0));
  Followed f(options, position);
  f.await(kLogs * 3 + 1);
  std::vector<int> order;
  for (const Delivered& d : f.documents) order.push_back(std::stoi(d.text));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << testing::PrintToString(order);
}

// A world in which files come, grow, are renamed, rotated, truncated and deleted, and a reader that dies at
// any moment and continues from its last commit. Every document must come exactly once, in order within a
// log.
TEST_P(Follow, EveryDocumentOnceWhateverHappens) {
  for (int round = 0; round < (GetParam() ? 3 : 4); ++round) {
    const char* setting = std::getenv("DOPPEL_TEST_SEED");
    const uint64_t seed = setting != nullptr ? std::stoull(setting) : std::random_device()();
    SCOPED_TRACE("DOPPEL_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    TemporaryDirectory world;
    const std::string in = world / "in", log = world / "logs/app";
    fs::create_directories(in);
    fs::create_directories(world / "logs");

    FollowOptions options = following({in, log});
    options.files.layout = Layout::automatic;
    options.files.batch_records = size_t{1} + pick(6);
    options.files.batch_bytes = size_t{20} + pick(300);
    options.files.buffer_bytes = size_t{8} + pick(64);
    options.files.paths[1] += ".jsonl";
    const std::string logfile = options.files.paths[1];

    Followed f(options);
    int made = 0, rotations = 0, files = 0;
    std::set<std::string> expected;
    std::vector<std::string> done_files;
    std::string open_line;
    size_t committed = 0;
    std::string committed_position;
    const auto text = [&] {
      std::string t = "doc" + std::to_string(made++) + std::string(static_cast<size_t>(pick(60)), 'x');
      expected.insert(t);
      return t;
    };
    const auto commit = [&] {
      committed = f.documents.size();
      committed_position = f.position;
    };
    const auto die = [&] {
      f.documents.resize(committed);
      f.open(committed_position);
    };
    const auto settle = [&] {
      for (int idle = 0; idle < 40 && f.documents.size() < expected.size();
           idle = f.last > 0 ? 0 : idle + 1) {
        f.next();
      }
      std::set<std::string> missing = expected;
      for (const Delivered& d : f.documents) missing.erase(d.text);
      ASSERT_THAT(missing, IsEmpty());
      std::set<std::string> more = expected;
      for (const Delivered& d : f.documents) EXPECT_EQ(more.erase(d.text), 1u) << d.event << " " << d.text;
      ASSERT_EQ(f.documents.size(), expected.size());
      commit();
    };
    // A line that is still open is not expected yet.
    const auto finish_line = [&](const std::string& path) {
      if (open_line.empty()) return;
      const std::string rest = std::to_string(made++) + "\n";
      write_file(path, rest, true);
      expected.insert(open_line + rest.substr(0, rest.size() - 1));
      open_line.clear();
    };
    const std::string rotating = world / "logs/rotated.";
    bool rotated_since_settled = false;
    for (int step = 0; step < 60; ++step) {
      switch (pick(11)) {
        case 0:
        case 1:
          finish_line(logfile);
          for (int i = pick(8); i > 0; --i) write_file(logfile, text() + "\n", true);
          break;
        case 2:
          finish_line(logfile);
          open_line = "half" + std::to_string(made++) + "-";
          write_file(logfile, open_line, true);
          break;
        case 3: {  // rotate
          // A file that nobody has seen under its name cannot be followed under another one.
          if (rotated_since_settled || !fs::exists(logfile)) break;
          if (fs::file_size(logfile) <= open_line.size()) break;
          settle();
          for (int i = pick(4); i > 0 && open_line.empty(); --i) write_file(logfile, text() + "\n", true);
          const bool before = pick(2) == 0;
          if (before) finish_line(logfile);
          const std::string to = rotating + std::to_string(rotations++);
          fs::rename(logfile, to);
          finish_line(to);
          rotated_since_settled = true;
          break;
        }
        case 4: {
          const std::string path = in + "/" + std::to_string(files++) + ".txt";
          write_file(path + ".tmp", text());
          fs::rename(path + ".tmp", path);
          done_files.push_back(path);
          break;
        }
        case 5: {
          const std::string path =
              in + "/sub" + std::to_string(pick(3)) + "/" + std::to_string(files++) + ".txt";
          write_file(path, text());
          done_files.push_back(path);
          break;
        }
        case 6:
          write_file(in + "/lines" + std::to_string(pick(3)) + ".jsonl", text() + "\n" + text() + "\n", true);
          break;
        case 7:
          if (done_files.empty()) break;
          settle();
          if (pick(2) == 0) {
            fs::rename(done_files.back(), in + "/renamed" + std::to_string(files++) + ".txt");
          } else {
            fs::remove(done_files.back());
          }
          done_files.pop_back();
          break;
        case 8:
          settle();
          rotated_since_settled = false;
          if (pick(2) == 0 && fs::exists(logfile) && open_line.empty() && fs::file_size(logfile) > 0) {
            write_file(logfile, text() + "\n");  // truncates
            settle();
          }
          break;
        case 9:
          die();
          break;
        default:
          for (int i = pick(4); i > 0; --i) {
            f.next();
            if (pick(2) == 0) commit();
          }
      }
      if (HasFatalFailure()) return;
    }
    finish_line(logfile);
    settle();
    die();
    f.nothing_comes();
    std::set<std::string> events, texts;
    std::vector<int> of_log;
    for (const Delivered& d : f.documents) {
      EXPECT_TRUE(events.insert(d.event).second) << d.event << " twice";
      EXPECT_TRUE(texts.insert(d.text).second) << d.text << " twice";
      if (d.event.find("/logs/") != std::string::npos && d.text.starts_with("doc")) {
        of_log.push_back(std::stoi(d.text.substr(3)));
      }
    }
    EXPECT_EQ(texts, expected);
    EXPECT_TRUE(std::is_sorted(of_log.begin(), of_log.end()));
    if (HasFailure()) return;
  }
}

// The list of a directory lacks files that are renamed while it is made, and a path may have another file
// when it is opened than when it was found.
TEST_P(Follow, RestartsWhileLogsAreRenamedReadNothingTwice) {
  if (GetParam()) GTEST_SKIP() << "only the system knows the new names";
  const std::string in = dir / "in", log = in + "/log.jsonl";
  const auto numbered = [&](int n) { return log + "." + std::to_string(n); };
  int logs = 0;
  const auto write = [&] {
    const std::string line = "{\"id\":\"" + std::to_string(logs) + "\"}\n";
    write_file(log, line + line);
  };
  const auto rotate = [&] {
    for (int n = logs++; n > 0; --n) fs::rename(numbered(n), numbered(n + 1));
    fs::rename(log, numbered(1));
    write();
  };
  write();
  while (logs < 20) rotate();
  Followed f(following({in}));
  const auto all = [&] { return 2 * (static_cast<size_t>(logs) + 1); };
  f.await(all());
  for (int restarts = 0; restarts < 20 && !HasFailure(); ++restarts) {
    std::atomic<bool> begun = false;
    std::thread renames([&] {
      begun = true;
      rotate();
    });
    while (!begun) std::this_thread::yield();
    f.open(f.position);
    renames.join();
    for (int i = 0; i < 100 && f.documents.size() < all(); ++i) f.next();
    f.nothing_comes();
    ASSERT_THAT(f.problems, IsEmpty());
    std::set<std::string> events;
    std::map<std::string, int> texts;
    for (const Delivered& d : f.documents) {
      EXPECT_TRUE(events.insert(d.event).second) << d.event << " twice";
      EXPECT_LE(++texts[d.text], 2) << d.text << " again";
    }
    EXPECT_EQ(f.documents.size(), all());
  }
}

// Renamed in a chain while nobody looked: each path has another file now, and a search finds them by name.
TEST_P(Follow, FilesThatWereRenamedInAChainAreNotReadAgain) {
  const auto name = [&](int n) { return dir / ("in/text." + std::to_string(n)); };
  for (int n = 0; n < 12; ++n) write_file(name(n), "text " + std::to_string(n));
  Followed f(following({dir / "in"}));
  f.await(12);
  for (const bool restarts : {false, true, true}) {
    for (int n = 20; n >= 0; --n) {
      if (fs::exists(name(n))) fs::rename(name(n), name(n + 1));
    }
    if (restarts) f.open(f.position);
    for (int i = 0; i < 3; ++i) f.next();
    EXPECT_EQ(f.documents.size(), 12u);
    EXPECT_THAT(f.problems, IsEmpty());
  }
  write_file(name(0), "text 0, replaced");
  f.await(13);
}

TEST(FollowPosition, IsWhatItWasAfterAnyHistory) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  FollowPosition position;
  std::map<uint64_t, uint64_t> wholes;
  std::map<FileKey, TailMark> tails;
  std::map<std::string, uint64_t> counts;
  uint64_t next_mark = 1;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t which = 1 + random() % 40;
    switch (random() % 6) {
      case 0:
      case 1:
        position.set_whole(which, wholes[which] = next_mark++);
        break;
      case 2:
        position.forget_whole(which);
        wholes.erase(which);
        break;
      case 3: {
        TailMark tail;
        tail.mark.device = 1;
        tail.mark.inode = which;
        tail.mark.offset = random() % 1000;
        tail.mark.path = "p" + std::to_string(random() % 9);
        tail.name = random() % 2 == 0 ? "n" : "";
        position.set_tail(tails[{1, which}] = tail);
        break;
      }
      case 4:
        position.forget_tail({1, which});
        tails.erase({1, which});
        break;
      default: {
        const std::string path = "p" + std::to_string(which % 5);
        position.set_count(path, ++counts[path]);
      }
    }
    if (i % 97 != 0) continue;
    auto read = FollowPosition::parse(position.encode());
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->encode(), position.encode());
    for (uint64_t p = 1; p <= 40; ++p) {
      ASSERT_EQ(read->whole_at(p), wholes.contains(p) ? wholes[p] : 0);
      const TailMark* tail = read->tail({1, p});
      ASSERT_EQ(tail != nullptr, tails.contains({1, p}));
      if (tail != nullptr) {
        ASSERT_EQ(*tail, (tails[{1, p}]));
      }
    }
    for (const auto& [path, count] : counts) ASSERT_EQ(read->count(path), count);
    if (random() % 3 == 0) position = *std::move(read);
  }
  const std::string good = position.encode();
  for (size_t i = 0; i < good.size(); i += 1 + random() % 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (random() % 8)));
    EXPECT_FALSE(FollowPosition::parse(bad).ok()) << i;
  }
}

TEST_P(Follow, ABellEndsTheWait) {
  const Fd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::string in = dir / "in";
  fs::create_directories(in);
  FollowOptions options = following({in});
  options.bell = bell.get();
  Followed f(options);
  f.nothing_comes();
  ASSERT_EQ(::eventfd_write(bell.get(), 3), 0);
  f.nothing_comes();
  eventfd_t rings = 0;
  EXPECT_NE(::eventfd_read(bell.get(), &rings), 0) << "nobody heard it";
  write_file(in + "/a.txt", "a text");
  f.await(1);
}

}  // namespace
}  // namespace doppel
