// What scan does with files that are no documents, and which of equal files it keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "commands/run_doppel.h"
#include "packed.h"
#include "zipped.h"

namespace doppel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::numbered_words;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;
namespace fs = testing::fs;
using namespace std::string_literals;

TEST(KeepFiles, SaysWhatItLeavesOutAndKeepAllCopiesIt) {
  TempDir dir;
  write_file(dir / "in/a.txt", numbered_words(0, 100));
  write_file(dir / "in/b.txt", numbered_words(0, 100));
  write_file(dir / "in/paper.pdf", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n");
  write_file(dir / "in/deep/picture.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s);
  write_file(dir / "in/.hidden", "one two three");
  write_file(dir / "in/.git/config", "one two three");
  write_file(dir / "in/empty.txt", "");
  fs::create_hard_link(dir / "in/a.txt", dir / "in/z.txt");
  fs::create_directory_symlink(dir / "in", dir / "in/deep/loop");
  const std::string kept = (dir / "kept") + (dir / "in/");
  const std::string flags = "scan -q -o " + (dir / "out") + " --keep-files " + (dir / "kept") + " ";

  const Ran some = run_doppel(flags + (dir / "in"));
  EXPECT_EQ(some.code, 1) << some.err;
  EXPECT_THAT(some.err,
              AllOf(HasSubstr("--keep-files: 5 other files not copied: 2 hidden, 1 .pdf, 1 .png, 1 empty; "
                              "the first: " +
                              (dir / "in/.git/config")),
                    HasSubstr("--keep-all copies them")));
  EXPECT_TRUE(fs::exists(kept + "a.txt"));
  EXPECT_FALSE(fs::exists(kept + "paper.pdf"));

  const Ran all = run_doppel(flags + "--keep-all " + (dir / "in"));
  EXPECT_THAT(all.err, HasSubstr("5 other files copied, too: "));
  for (const char* name : {"a.txt", "paper.pdf", "deep/picture.png", ".hidden", ".git/config", "empty.txt"})
    EXPECT_EQ(read_file(kept + name), read_file(dir / ("in/"s + name))) << name;
  EXPECT_TRUE(fs::exists(kept + "empty.txt"));
  EXPECT_FALSE(fs::exists(kept + "b.txt")) << "a copy";
  EXPECT_FALSE(fs::exists(kept + "z.txt")) << "the same file";

  // Nothing is said where nothing is left out; what doppel writes itself does not count.
  write_file(dir / "two/a.txt", numbered_words(0, 100));
  const Ran none = run_doppel("scan -q -o " + (dir / "two/events.jsonl") + " --keep-files " +
                              (dir / "two/kept") + " " + (dir / "two"));
  EXPECT_EQ(none.err, "");
  EXPECT_EQ(run_doppel("scan --keep-all " + (dir / "two")).code, 2);
  EXPECT_THAT(run_doppel("scan --keep-all --keep-files x --state " + (dir / "s") + " " + (dir / "two")).err,
              HasSubstr("not with --state"));
}

TEST(KeepFiles, AllInputsThatCannotBeReadAreInRejects) {
  TempDir dir;
  write_file(dir / "in/a.txt", numbered_words(0, 100));
  for (int i = 0; i < 30; ++i)
    write_file(dir / ("in/p" + std::to_string(i) + ".pdf"), "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n");
  write_file(dir / "in/cut.jsonl.gz",
             gz("{\"id\":\"x\",\"text\":\"" + numbered_words(0, 500) + "\"}\n").substr(0, 60));
  std::string noise;  // in no charset
  for (int i = 0; i < 300; ++i) noise += static_cast<char>(0x80 + (i * 37) % 0x80);
  write_file(dir / "in/bad\n\"name.txt", noise);
  const Ran ran =
      run_doppel("scan -q -o " + (dir / "out") + " --rejects " + (dir / "rejects") + " " + (dir / "in"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  const std::string rejects = read_file(dir / "rejects");
  for (int i = 0; i < 30; ++i)
    EXPECT_THAT(rejects,
                HasSubstr("{\"unread\":\"" + (dir / ("in/p" + std::to_string(i) + ".pdf\",\"problem\":\""))));
  EXPECT_THAT(rejects, AllOf(HasSubstr("cut.jsonl.gz\",\"problem\":"),
                             HasSubstr("in/bad\\n\\\"name.txt\",\"problem\":"), HasSubstr("pdftotext")));
  EXPECT_EQ(std::count(rejects.begin(), rejects.end(), '\n'), 32) << rejects;
}

TEST(KeepFiles, KeepCopiesWholeFilesBelowADirectoryAndSaysThatAFileCannotHoldThem) {
  TempDir dir;
  write_file(dir / "in/a.txt", numbered_words(0, 100) + "\r\n\r\n");
  write_file(dir / "in/b.html", "<p>" + numbered_words(200, 300) + "</p>");
  write_file(dir / "in/b2.html", "<p>" + numbered_words(200, 300) + "</p>");
  write_file(dir / "in/c.txt.gz", gz(numbered_words(300, 400)));
  write_file(dir / "in/d.jsonl", R"({"id":"j","text":"a json line of five words or more"})"
                                 "\n");
  write_file(dir / "evals.jsonl", R"({"id":"q","question":"what is in none of all of these files"})"
                                  "\n");
  const std::string find = "decontaminate -q --evals " + (dir / "evals.jsonl") + " ";
  for (const std::string& command : {"scan -q "s, find}) {
    const bool scan = command.starts_with("scan");
    const Ran file =
        run_doppel(command + "-o " + (dir / "out") + " --keep " + (dir / "kept.jsonl ") + (dir / "in"));
    EXPECT_EQ(file.code, 1) << command;
    EXPECT_THAT(file.err, HasSubstr((scan ? "3 unique" : "4 clean") +
                                    " documents are whole files and not in "s + (dir / "kept.jsonl")));
    EXPECT_THAT(file.err,
                AllOf(HasSubstr(scan ? "--keep DIR/ or --keep-files DIR copies" : "--keep DIR/ copies"),
                      HasSubstr("the first: " + (dir / "in/a.txt"))));
    EXPECT_EQ(std::ranges::count(read_file(dir / "kept.jsonl"), '\n'), 1);

    const std::string to = scan ? "unique/" : "clean/";
    const Ran directory =
        run_doppel(command + "-o " + (dir / "out") + " --keep " + (dir / to) + " " + (dir / "in"));
    EXPECT_EQ(directory.code, 0) << directory.err;
    EXPECT_EQ(directory.err, "");
    const std::string kept = (dir / to) + (dir / "in/");
    for (const char* name : {"a.txt", "b.html", "c.txt.gz", "d.jsonl"})
      EXPECT_EQ(read_file(kept + name), read_file(dir / ("in/"s + name))) << command << name;
    EXPECT_EQ(fs::exists(kept + "b2.html"), !scan);
  }
  // Where --keep-files copies them, a file for lines misses nothing.
  const Ran both = run_doppel("scan -q -o " + (dir / "out") + " --keep " + (dir / "kept.jsonl") +
                              " --keep-files " + (dir / "copies ") + (dir / "in"));
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_TRUE(fs::exists((dir / "copies") + (dir / "in/a.txt")));
  // The best one of --best is copied, too.
  const Ran best = run_doppel("scan -q --best shortest -o " + (dir / "out") + " --keep " + (dir / "best/ ") +
                              (dir / "in"));
  EXPECT_EQ(best.code, 0) << best.err;
  EXPECT_TRUE(fs::exists((dir / "best") + (dir / "in/b.html")));
}

TEST(KeepFiles, OneFileHoldsOneKindOfRecords) {
  TempDir dir;
  const auto mail = [](int from) {
    return "From a@b Mon May  6 07:08:09 2024\nMessage-ID: <" + std::to_string(from) + "@b>\nSubject: s\n\n" +
           numbered_words(from, from + 50) + "\n\n";
  };
  const auto line = [](int from) {
    return R"({"id":")" + std::to_string(from) + R"(","text":")" + numbered_words(from, from + 50) + "\"}\n";
  };
  const std::string warc =
      "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Target-URI: http://x/\r\n"
      "Content-Type: text/plain\r\nContent-Length: 23\r\n\r\none two three four five\r\n\r\n";
  write_file(dir / "m", mail(1000));
  write_file(dir / "j.jsonl", line(2000) + line(3000));
  write_file(dir / "k", "[" + line(4000) + "]");
  write_file(dir / "t.csv", "id,text\n1," + numbered_words(5000, 5050) + "\n");
  write_file(dir / "w", warc);
  write_file(dir / "evals.jsonl", R"({"id":"q","question":"what is in none of all of these files"})"
                                  "\n");
  const std::string scan = "scan -q -o /dev/null --keep " + (dir / "kept ");
  for (const std::string& command : {scan, "decontaminate -q -o /dev/null --evals " + (dir / "evals.jsonl") +
                                               " --keep " + (dir / "kept ")}) {
    for (const auto& [other, what] : {std::pair("m", "mail"), std::pair("w", "WARC records")}) {
      const Ran ran = run_doppel(command + (dir / "j.jsonl ") + (dir / other));
      EXPECT_EQ(ran.code, 2) << ran.err;
      EXPECT_THAT(ran.err,
                  AllOf(HasSubstr((dir / "j.jsonl") + " holds lines and " + (dir / other) + " " + what),
                        HasSubstr("--keep DIR/")));
      EXPECT_FALSE(fs::exists(dir / "kept"));
    }
  }
  const Ran lines = run_doppel(scan + (dir / "j.jsonl ") + (dir / "k ") + (dir / "t.csv"));
  EXPECT_EQ(lines.code, 0) << lines.err;
  EXPECT_EQ(std::ranges::count(read_file(dir / "kept"), '\n'), 4);
  const Ran each =
      run_doppel("scan -q -o /dev/null --keep " + (dir / "each/ ") + (dir / "j.jsonl ") + (dir / "m"));
  EXPECT_EQ(each.code, 0) << each.err;
  EXPECT_EQ(read_file((dir / "each") + (dir / "m")), mail(1000));

  // What is known too late is not kept, and named.
  const Ran piped = run_doppel(scan + (dir / "j.jsonl") + " - <" + (dir / "m"));
  EXPECT_EQ(piped.code, 1) << piped.err;
  EXPECT_THAT(piped.err, AllOf(HasSubstr("1 unique record is not in"), HasSubstr("-: byte 0: mail, but"),
                               HasSubstr("has lines")));
  EXPECT_EQ(read_file(dir / "kept"), line(2000) + line(3000));

  // Nor does a later run mix them.
  const std::string state =
      "scan -q --state " + (dir / "state") + " -o " + (dir / "out") + " --keep " + (dir / "file ");
  EXPECT_EQ(run_doppel(state + (dir / "m")).code, 0);
  const Ran later = run_doppel(state + (dir / "j.jsonl"));
  EXPECT_EQ(later.code, 2) << later.err;
  EXPECT_THAT(later.err, HasSubstr((dir / "file") + " holds mail"));
  EXPECT_EQ(read_file(dir / "file"), mail(1000));
}

TEST(KeepFiles, WrongRowsOfATableAreRejectedWithTheirBytes) {
  TempDir dir;
  write_file(dir / "b.csv", "id,text\n1," + numbered_words(0, 50) + "\n2,too,many\n3,\"not closed\n4," +
                                numbered_words(100, 150) + "\n");
  const Ran ran =
      run_doppel("scan --all -o " + (dir / "out") + " --rejects " + (dir / "rejects ") + (dir / "b.csv"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(read_file(dir / "rejects"), "2,too,many\n3,\"not closed\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("2 rejected"),
                             HasSubstr("b.csv: row 1: line 3: 3 fields, but the header has 2"),
                             ::testing::Not(HasSubstr("as a whole"))));
  EXPECT_EQ(std::ranges::count(read_file(dir / "out"), '\n'), 4);
}

TEST(KeepFiles, DocumentsWithoutTextAreNotKeptAndTheSummarySaysSo) {
  TempDir dir;
  write_file(dir / "in.jsonl", R"({"id":"a","text":""})"
                               "\n");
  EXPECT_THAT(run_doppel("scan -o /dev/null --keep " + (dir / "kept ") + (dir / "in.jsonl")).err,
              HasSubstr("1 without a text of their own (unscored, not kept)"));
  EXPECT_THAT(run_doppel("scan -o /dev/null " + (dir / "in.jsonl")).err, HasSubstr("(unscored):"));
}

TEST(KeepFiles, OldestAndNewestAreByTheTimesOfFiles) {
  TempDir dir;
  const auto now = fs::file_time_type::clock::now();
  const auto file = [&](const std::string& name, const std::string& text, int hours) {
    write_file(dir / ("in/" + name), text);
    fs::last_write_time(dir / ("in/" + name), now - std::chrono::hours(hours));
  };
  file("a.txt", numbered_words(0, 100), 10);
  file("b.txt", numbered_words(0, 100), 30);
  file("c.txt", numbered_words(0, 100), 1);
  file("d.txt", numbered_words(500, 600), 5);
  // Read in pieces.
  std::string large;
  for (int i = 0; large.size() < (17u << 20); ++i) large += "w" + std::to_string(i) + " ";
  file("l1.txt", large, 10);
  file("l2.txt", large, 30);
  const auto kept = [&](const std::string& best) {
    const std::string to = dir / best;
    const Ran ran = run_doppel("scan -q -o " + (dir / "out") + " --best " + best + " --keep-files " + to +
                               " " + (dir / "in"));
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::string names;
    for (const char* name : {"a", "b", "c", "d", "l1", "l2"})
      if (fs::exists(to + (dir / ("in/"s + name + ".txt")))) names += name + " "s;
    return names;
  };
  EXPECT_EQ(kept("oldest"), "b d l2 ");
  EXPECT_EQ(kept("newest"), "c d l1 ");
}

TEST(KeepFiles, DocumentsOfOfficeAreRefusedByTheirNameAndTheCommandThatConvertsThem) {
  const auto first = [](const std::string& type) {
    return zipped({{"mimetype", type}, {"content.xml", "<a/>"}});
  };
  const struct {
    std::string bytes, what, command;
  } cases[] = {
      {zipped({{"[Content_Types].xml", "<Types/>"}, {"_rels/.rels", ""}, {"word/document.xml", "<w/>"}}),
       "DOCX", "pandoc -f docx"},
      {zipped({{"_rels/.rels", ""}, {"docProps/app.xml", ""}, {"word/_rels/document.xml.rels", ""}}), "DOCX",
       "pandoc -f docx"},
      {zipped({{"[Content_Types].xml", "<Types/>"}, {"_rels/.rels", ""}, {"xl/workbook.xml", "<w/>"}}),
       "Excel", "CSV"},
      {first("application/vnd.oasis.opendocument.text"), "ODT", "pandoc -f odt"},
      {first("application/epub+zip"), "EPUB", "pandoc -f epub"},
      {zipped({{"password/word/a.txt", "text"}}), "ZIP", "unpack"},
      {"{\\rtf1\\ansi one two}", "RTF", "pandoc -f rtf"},
  };
  for (const auto& [bytes, what, command] : cases) {
    TempDir dir;
    write_file(dir / "in/a", bytes);
    write_file(dir / "in/b.txt", numbered_words(0, 100));
    const Ran ran = run_doppel("scan " + (dir / "in"));
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, AllOf(HasSubstr(what), HasSubstr(command))) << what;
  }
}

TEST(KeepFiles, AMissingTextFieldNamesTheFieldsThatAreThere) {
  TempDir dir;
  write_file(dir / "in.jsonl", R"({"id":1,"article":"one two","lang":"en"})"
                               "\n");
  const Ran ran = run_doppel("scan " + (dir / "in.jsonl"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr(R"(the fields are "id", "article", "lang")"), HasSubstr("--text-field")));
}

}  // namespace
}  // namespace doppel
