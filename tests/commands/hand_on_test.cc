// doppel sign --from: passes an index on to another one.
#include <gmock/gmock.h>

#include <random>

#include "run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

std::string document(const std::string& id, const std::string& text) {
  return R"({"id":")" + id + R"(","url":"http://x.example/)" + id + R"(","date":"2024-01-02","text":")" +
         text + "\"}\n";
}

// Words of a few topics, so that there are copies within a part and between parts.
std::string part(std::mt19937& random, const std::string& name, int documents) {
  std::string out;
  for (int i = 0; i < documents; ++i) {
    std::string text;
    const int topic = static_cast<int>(random() % 40), words = static_cast<int>(random() % 5) == 0 ? 2 : 60;
    for (int w = 0; w < words; ++w) text += "t" + std::to_string(topic) + "w" + std::to_string(w) + " ";
    text += random() % 2 == 0 ? "end" : "other end";
    out += document(name + std::to_string(i), text);
  }
  return out;
}

// Returns the unique documents in their places, and empty lines in place of the others.
std::string originals(const std::string& lines, const std::string& verdicts) {
  std::istringstream documents(lines), said(verdicts);
  std::string out;
  for (std::string line, verdict; std::getline(documents, line) && std::getline(said, verdict);)
    out += (verdict.find("\"verdict\":\"unique\"") != std::string::npos ? line
                                                                        : std::string(line.size(), '\n')) +
           "\n";
  return out;
}

TEST(HandOn, TwoIndexesBecomeWhatTheirDocumentsMake) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::string settings : {"", " --set verify=signature --set num_perm=64 --set threshold=0.7"}) {
    TempDir dir;
    write_file(dir / "key", "00112233445566778899aabbccddeeff\n");
    const std::string scan = "scan -q --all --set hash_key_file=" + (dir / "key") + settings;
    const std::string a = part(random, "a", 60), b = part(random, "b", 60);
    write_file(dir / "a.jsonl", a);
    write_file(dir / "b.jsonl", b);
    run_doppel(scan + " --state " + (dir / "A") + " " + (dir / "a.jsonl"));
    run_doppel(scan + " --state " + (dir / "A2") + " " + (dir / "a.jsonl"));
    const std::string unique =
        originals(b, run_doppel(scan + " --state " + (dir / "B") + " " + (dir / "b.jsonl")).out);
    fs::rename(dir / "b.jsonl", dir / "all-of-b.jsonl");
    write_file(dir / "b.jsonl", unique);

    const Ran handed = run_doppel("sign --set hash_key_file=" + (dir / "key") + " --from " + (dir / "B") +
                                  " -o " + (dir / "b.signed.zst"));
    ASSERT_EQ(handed.code, 0) << handed.err;
    EXPECT_THAT(handed.err, HasSubstr("originals as signed records"));
    const Ran merged =
        run_doppel(scan + " --format signed --state " + (dir / "A") + " " + (dir / "b.signed.zst"));
    const Ran documents = run_doppel(scan + " --state " + (dir / "A2") + " " + (dir / "b.jsonl"));
    ASSERT_EQ(merged.code, 0) << merged.err;
    EXPECT_EQ(merged.out, documents.out);
    const auto checksum = [&](const std::string& state) {
      const std::string said = run_doppel("inspect " + (dir / state)).out;
      const size_t at = said.find("index checksum");
      return at == std::string::npos ? said : said.substr(at, said.find('\n', at) - at);
    };
    EXPECT_EQ(checksum("A"), checksum("A2"));
    EXPECT_THAT(checksum("A"), HasSubstr("index checksum"));
    EXPECT_THAT(merged.out, HasSubstr("\"verdict\":\"duplicate\""));
    EXPECT_THAT(merged.out, HasSubstr("\"verdict\":\"unique\""));
  }
}

TEST(HandOn, RefusesWhatCannotBe) {
  TempDir dir;
  EXPECT_THAT(run_doppel("sign --from " + (dir / "none")).err, HasSubstr("there is no index in it"));
  write_file(dir / "in.jsonl", document("a", "one two three four five six"));
  run_doppel("scan -q --state " + (dir / "s") + " " + (dir / "in.jsonl"));
  EXPECT_THAT(run_doppel("sign --from " + (dir / "s") + " " + (dir / "in.jsonl")).err,
              HasSubstr("not with other inputs"));
  // Another index has another key.
  run_doppel("scan -q --state " + (dir / "t") + " " + (dir / "in.jsonl"));
  ASSERT_EQ(run_doppel("sign -q --from " + (dir / "s") + " -o " + (dir / "s.signed")).code, 0);
  const Ran other = run_doppel("scan --format signed --state " + (dir / "t") + " " + (dir / "s.signed"));
  EXPECT_THAT(other.err, HasSubstr("hash_key_fingerprint"));

  run_doppel("scan -q --set relations=near,contained --state " + (dir / "r") + " " + (dir / "in.jsonl"));
  const Ran relations = run_doppel("sign --from " + (dir / "r") + " -o " + (dir / "r.signed"));
  EXPECT_EQ(relations.code, 3);
  EXPECT_THAT(relations.err, HasSubstr("an index with relations cannot be handed on"));
  EXPECT_FALSE(fs::exists(dir / "r.signed"));
}

}  // namespace
}  // namespace doppel::testing
