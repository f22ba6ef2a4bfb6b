// docs/formats.md shows bytes of each format. doppel's code writes them, and this test takes them apart as
// the page says. DOPPEL_WRITE_DOCS=1 puts them into the page.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "base/checksums.h"
#include "docs/layout.h"
#include "engine/answer.h"
#include "engine/signed_record.h"
#include "records/metadata.h"
#include "state/columns.h"
#include "state/index_log.h"
#include "state/journal.h"
#include "state/support.h"

namespace doppel::docs_test {
namespace {

constexpr int kPerm = 8, kWords = 1;  // of the examples: short signatures, one word of bands
constexpr uint64_t kScheme = 0x1122334455667788;
constexpr uint8_t kSlices[kPerm] = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr uint32_t kMask[kWords] = {0b101};
const Epoch kEpoch{0xd0, 0x99, 0xe1, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1};
const std::string kCodedSet = "(a coded set)";

std::string metadata() {
  std::string out;
  encode_metadata({.source = "documents",
                   .partition = 3,
                   .offset = 1000,
                   .id = "a-7",
                   .url = "https://example.org/7",
                   .date_ms = 1700000000000,
                   .arrival_ms = 1700000001000,
                   .key = "7",
                   .payload = {5, 6}},
                  out);
  return out;
}

StoredRow row(BodyRef body = {}) {
  return {.seq = 2,
          .row = {.slices = kSlices,
                  .digest = {0xaa, 0xbb},
                  .id_tag = 0xcc,
                  .payload = payload_bits({5, 6}),
                  .body = body,
                  .mask = kMask},
          .trusted_ms = 1700000000000};
}

std::string file_header() {
  const std::string bytes =
      encode_header({.kind = FileKind::hot, .num_perm = kPerm, .mask_words = kWords, .epoch = kEpoch});
  return Layout(bytes)
      .text(6, "magic")
      .text(1, "kind")
      .bytes(1, "line end")
      .u32("version")
      .u32("num_perm")
      .u32("mask_words")
      .bytes(16, "epoch")
      .bytes(8, "zero")
      .crc_is("CRC32C of the 44 bytes before", crc32c(std::string_view(bytes).substr(0, 44)))
      .done();
}

std::string hot() {
  const HotFormat format(kPerm, kWords, kEpoch);
  std::string bytes;
  format.append(row({.offset = 48, .size = 82}), bytes);
  const uint64_t number = 2;
  const std::string_view epoch(reinterpret_cast<const char*>(kEpoch.data()), kEpoch.size());
  const uint32_t seed = crc32c({reinterpret_cast<const char*>(&number), sizeof number}, crc32c(epoch));
  return Layout(bytes, format.offset(2))
      .crc("CRC32C of the rest, seeded with epoch and number", seed)
      .u32("flags: slices, and the payload's bits")
      .u64("body: offset, and its size << 40")
      .u64("id tag")
      .i64("record time")
      .bytes(16, "digest")
      .u32("bands in which it is listed")
      .bytes(kPerm, "slices")
      .done();
}

std::string bodies() {
  const state_test::TempDir dir;
  const std::string path = dir.file("bodies");
  BodiesFile file(*File::open(path, O_RDWR | O_CREAT), kFileHeaderBytes);
  EXPECT_TRUE(file.append({.metadata = metadata(), .coded_set = kCodedSet}).ok());
  EXPECT_TRUE(file.flush().ok());
  const std::string all = state_test::read_file(path);
  const uint64_t offset = kFileHeaderBytes;
  const uint32_t seed = crc32c({reinterpret_cast<const char*>(&offset), sizeof offset});
  return Layout(std::string_view(all).substr(kFileHeaderBytes), kFileHeaderBytes)
      .crc("CRC32C of the rest, seeded with the offset", seed)
      .string("metadata")
      .text(kCodedSet.size(), "coded set")
      .done();
}

std::string metadata_example() {
  const std::string bytes = metadata();
  return Layout(bytes)
      .u8("flags: 1 date, 4 partition, 8 more, 16 payload")
      .string("source")
      .varint("partition")
      .varint("offset")
      .string("id")
      .string("url")
      .i64("date")
      .bytes(16, "payload with its scope")
      .u8("more: 1 key, 2 arrival")
      .string("key")
      .i64("arrival")
      .done();
}

CommitRecord commit(uint64_t number) {
  return {.commits = number,
          .next_seq = 2 * number,
          .bodies_end = 48 + 1000 * number,
          .hot_crc = number > 1 ? 0x01020304U : 0,
          .bodies_crc = number > 1 ? 0x05060708U : 0,
          .lowest_live = 1,
          .keep_from = 0,
          .documents = 3 * number,
          .made_ms = 1700000000000,
          .source_position = fmt::format("(position {} of the source)", number),
          .sink_position = "(sink)",
          .clock = "(clock)",
          .removed = {1, 3},
          .shown = {{2, "(copy)"}}};
}

Layout& head_of_commit(Layout& layout, std::string_view type) {
  return layout.u8(type)
      .varint("commits so far")
      .varint("rows in hot")
      .varint("length of bodies")
      .u32("CRC32C of what hot gained")
      .u32("CRC32C of what bodies gained")
      .varint("lowest live number")
      .varint("lowest number that is kept")
      .varint("documents judged")
      .i64("made");
}
Layout& end_of_commit(Layout& layout) {
  return layout.string("sink position")
      .string("clock of expiry")
      .varint("removed numbers")
      .varint("the first one")
      .varint("gap to the next")
      .varint("clusters that show a better copy")
      .varint("original of the first one")
      .string("its copy");
}

std::string journal() {
  const state_test::TempDir dir;
  const Identity identity{
      .data_scheme = "(scheme)", .rule = "(rule)", .num_perm = kPerm, .mask_words = kWords};
  auto writer = JournalWriter::begin(dir.path(), kEpoch, identity, commit(1), {}, 0, false);
  EXPECT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE(writer->append(encode_commit(commit(2), commit(1).source_position)).ok());
  const std::string all = state_test::read_file(dir.file("journal"));
  const std::string_view records = std::string_view(all).substr(kFileHeaderBytes);
  Layout layout(records, kFileHeaderBytes);
  const auto sum = [&](size_t at, uint32_t seed) {  // of the length and the payload behind the checksum
    const auto length = load<uint32_t>(records.data() + at);
    return crc32c(records.substr(at + 8, length), crc32c(records.substr(at, 4), seed));
  };
  const uint32_t first = sum(0, 0);
  layout.title("a checkpoint").u32("length of the payload").crc_is("CRC32C of length and payload", first);
  head_of_commit(layout, "type: checkpoint").string("source position");
  end_of_commit(layout).string("data scheme").string("rule").varint("num_perm").varint("mask_words");
  const uint32_t second = sum(8 + load<uint32_t>(records.data()), first);
  layout.title("a commit")
      .u32("length of the payload")
      .crc_is("CRC32C of length and payload, seeded with the one before", second);
  head_of_commit(layout, "type: commit with what changed of the source position")
      .varint("bytes kept at the beginning")
      .string("bytes between")
      .varint("bytes kept in front of the last four")
      .string("the last four");
  return end_of_commit(layout).done();
}

// Lays out key and value of a log record; each value begins with its kind and its checksum.
std::string log_record(const std::string& bytes, const LogPlace& place, bool number,
                       const std::function<void(Layout&)>& rest) {
  const std::string_view all = bytes;
  const std::string_view key = all.substr(place.key, place.value - place.key);
  const std::string_view value = all.substr(place.value, place.end - place.value);
  Layout of_key(key);
  of_key.title("key");
  if (number) {
    of_key.big_u64("number, big endian");
  } else {
    of_key.text(key.size(), "name");
  }
  Layout layout(value);
  const uint32_t crc = crc32c(value.substr(5), crc32c(value.substr(0, 1), crc32c(key)));
  layout.title("value").text(1, "kind").crc_is("CRC32C of key, kind and the rest", crc);
  rest(layout);
  return of_key.done() + "\n" + layout.done();
}

template <typename Record>
std::string logged(LogPlace (*put)(std::string&, const Record&), const Record& record,
                   const std::function<void(Layout&)>& rest) {
  std::string bytes;
  const LogPlace place = put(bytes, record);
  return log_record(bytes, place, std::is_same_v<Record, LogRemoved>, rest);
}

std::string log_original() {
  std::string bytes;
  const LogPlace place =
      put_log_row(bytes, row(), kPerm, kWords, kScheme, {.metadata = metadata(), .coded_set = kCodedSet});
  return log_record(bytes, place, true, [](Layout& l) {
    l.u64("fingerprint of the data scheme")
        .u8("flags: 1 slices, 2 payload")
        .bytes(16, "digest")
        .u64("id tag")
        .u32("bits of the payload")
        .i64("record time")
        .varint("mask words")
        .u32("bands in which it is listed")
        .string("slices")
        .string("metadata")
        .string("coded set");
  });
}

std::string position() {
  kafka::KafkaPosition p{.cluster = "4L6g3nShT-eMCtK--X86sw",
                         .index_log = "doppel-index",
                         .log_offset = 5000,
                         .covered_ms = 1700000000000,
                         .epoch_offset = 2,
                         .expire = {.lowest_live = 10, .announced = 10},
                         .cut = {.generation = "resolver-1", .cut = 77}};
  p.progress[{"documents", 3}] = {.topic = "documents",
                                  .partition = 3,
                                  .next = 1001,
                                  .last_ms = 1700000000500,
                                  .highest_ms = 1700000000700,
                                  .topic_id = "Tl6mXjKgQbGIQ-cdZqw7mQ",
                                  .written_ms = 1700000000900,
                                  .samples = {{1000, 1700000000500, 0xdddddddd}}};
  const std::string bytes = kafka::encode_position(p);
  return Layout(bytes)
      .bytes(4, "magic")
      .string("cluster")
      .string("index log")
      .varint("next offset of the log")
      .varint("covered until, milliseconds")
      .varint("lowest live number")
      .varint("first number whose end was not announced")
      .varint("offset of the epoch record + 1")
      .varint("partitions")
      .string("topic")
      .varint("partition")
      .varint("next offset")
      .i32("incarnation, -1 for the first")
      .i64("timestamp of the record before")
      .i64("highest timestamp")
      .varint("incarnations before that are the same topic")
      .string("id of the topic")
      .string("id of the topic before")
      .i64("written at, milliseconds")
      .varint("records for comparisons")
      .varint("before the next offset")
      .i64("timestamp")
      .u32("checksum of key and value")
      .string("generation of a resolver")
      .varint("cut")
      .string("owner")
      .string("settings of the owner")
      .done();
}

std::string answers() {
  AnswerRecord record{.generation = "resolver-1", .shards = "0-31/64", .as_of = 77, .begin = 500, .end = 600};
  Answer answer;
  answer.same_payload = {2, {0xaa, 0xbb}};
  answer.exact = 2;
  answer.candidates.push_back({.seq = 2, .equal = 100, .checked = true, .overlap = {90, 110}});
  answer.candidates_more = 1;
  answer.counts.push_back({.band = 4, .listed = 2});
  answer.same_id.push_back({2, {0xaa, 0xbb}});
  answer.describe(2, metadata());
  record.answers.emplace_back(503, answer);
  std::string bytes;
  encode_answers(record, 8, bytes);
  return Layout(bytes)
      .crc("CRC32C of the rest")
      .u8("version")
      .string("generation")
      .string("shards")
      .varint("cut")
      .varint("first offset in the order")
      .varint("offsets")
      .varint("answers")
      .varint("offset, from the first one")
      .u8("flags: 1 payload, 2 digest")
      .varint("original with this payload")
      .bytes(16, "its digest")
      .varint("original with this digest")
      .varint("candidates")
      .varint("number")
      .varint("equal slices")
      .u8("flags: 1 checked, 2 estimated")
      .varint("shared values")
      .varint("values of both")
      .varint("more candidates, unchecked")
      .varint("bands that list somebody with the same key")
      .varint("band")
      .varint("how many it lists")
      .varint("originals with the id")
      .varint("number")
      .bytes(16, "its digest")
      .varint("described")
      .varint("number")
      .string("metadata")
      .done();
}

std::string signed_file() {
  std::string bytes;
  append_signed_header({.scheme = "(scheme)", .text = "(format)", .format = "json"}, bytes);
  const size_t header = bytes.size();
  const uint32_t sum = crc32c(std::string_view(bytes).substr(0, header - 4));
  append_frame_head(3, bytes);
  bytes += "abc";
  append_frame_head(0, bytes);
  const auto head = [&](size_t at) { return crc32c(std::string_view(bytes).substr(at, 4)); };
  return Layout(bytes)
      .title("header")
      .bytes(8, "magic: DPLSIGN and 0x01")
      .u32("version")
      .u32("length of the three strings")
      .string("data scheme")
      .string("its part about the format")
      .string("format of the documents")
      .crc_is("CRC32C of all before", sum)
      .title("frame")
      .u32("length of the record")
      .crc_is("CRC32C of the length", head(header))
      .text(3, "the record")
      .title("end")
      .u32("length 0")
      .crc_is("CRC32C of the length", head(header + 8 + 3))
      .done();
}

std::string signed_record() {
  SignedDocument document{.content = Content::shingled,
                          .digest = {0xaa, 0xbb},
                          .payload = {5, 6},
                          .id_tag = 0xcc,
                          .timestamp_ms = 1700000000000,
                          .coded_set = kCodedSet,
                          .metadata = metadata()};
  std::string bytes;
  encode_signed_record(kScheme, {.source = "documents", .partition = 3, .begin = 1000, .end = 1001}, document,
                       kSlices, bytes);
  return Layout(bytes)
      .crc("CRC32C of the rest")
      .u8("version")
      .u64("fingerprint of the data scheme")
      .u8("content: 0 shingled")
      .u8("flags: 4 coded set, 8 payload, 16 id tag, 32 time")
      .string("source")
      .varint("partition + 1")
      .varint("begin")
      .varint("end - begin")
      .bytes(16, "digest")
      .bytes(16, "payload digest")
      .u64("id tag")
      .i64("time")
      .varint("slices")
      .bytes(kPerm, "the slices")
      .string("coded set")
      .string("metadata")
      .string("reason")
      .string("record of a rejected document")
      .done();
}

std::map<std::string, std::string> examples() {
  return {
      {"header", file_header()},
      {"hot", hot()},
      {"bodies", bodies()},
      {"metadata", metadata_example()},
      {"journal", journal()},
      {"position", position()},
      {"log-R", log_original()},
      {"log-X", logged(put_log_removed, {.seq = 2, .trusted_ms = 1700000000000},
                       [](Layout& l) { l.i64("its record time"); })},
      {"log-S", logged(put_log_shown, {.seq = 2, .copy = "(copy)"}, [](Layout& l) { l.string("its copy"); })},
      {"log-L", logged(put_log_expire, {.lowest_live = 10, .announced = 10, .clock = "(clock)"},
                       [](Layout& l) {
                         l.varint("lowest live number").varint("first number whose end was not announced");
                         l.string("clock of expiry");
                       })},
      {"log-P", logged(put_log_progress,
                       {.topic = "documents",
                        .partition = 3,
                        .next = 1001,
                        .last_ms = 1700000000500,
                        .highest_ms = 1700000000700,
                        .topic_id = "Tl6mXjKgQbGIQ-cdZqw7mQ",
                        .written_ms = 1700000000900,
                        .samples = {{1000, 1700000000500, 0xdddddddd}}},
                       [](Layout& l) {
                         l.varint("next offset")
                             .i32("incarnation, -1 for the first")
                             .i64("timestamp of the record before");
                         l.i64("highest timestamp")
                             .varint("incarnations before that are the same topic")
                             .string("id of the topic")
                             .string("id of the topic before")
                             .i64("written at, milliseconds");
                         l.varint("records for comparisons").varint("before the next offset");
                         l.i64("timestamp").u32("checksum of key and value");
                       })},
      {"log-M",
       logged(put_log_missing, {.topic = "documents", .partition = 3, .offset = 1000, .reason = "not found"},
              [](Layout& l) { l.string("reason"); })},
      {"log-E", logged(put_log_epoch,
                       {.epoch = kEpoch,
                        .cluster = "4L6g3nShT-eMCtK--X86sw",
                        .data_scheme = "(scheme)",
                        .num_perm = kPerm,
                        .mask_words = kWords},
                       [](Layout& l) {
                         l.bytes(16, "epoch").string("cluster").string("data scheme").varint("num_perm");
                         l.varint("mask_words").u8("complete").string("rebuilt from");
                       })},
      {"log-U", logged(put_log_rule, {.rule = "(rule)"}, [](Layout& l) { l.string("rule"); })},
      {"log-O", logged(put_log_owner, {.owner = "daemon-1"}, [](Layout& l) { l.string("process"); })},
      {"log-C", logged(put_log_cut, {.generation = "resolver-1", .cut = 77},
                       [](Layout& l) { l.string("generation").varint("batches that were decided"); })},
      {"log-B", logged(put_log_batch, {.records = 12},
                       [](Layout& l) { l.varint("records of the transaction, this one included"); })},
      {"answers", answers()},
      {"signed-file", signed_file()},
      {"signed-record", signed_record()},
  };
}

TEST(Formats, ThePageShowsTheBytesThatDoppelWrites) {
  const std::string path = std::string(DOPPEL_SOURCE_DIR) + "/docs/formats.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  std::string text = page.str();
  for (const auto& [name, lines] : examples()) {
    const std::string fence = "```text " + name + "\n";
    const size_t begin = text.find(fence);
    ASSERT_NE(begin, std::string::npos) << "docs/formats.md shows no bytes of " << name;
    const size_t from = begin + fence.size(), to = text.find("```", from);
    if (std::getenv("DOPPEL_WRITE_DOCS") != nullptr) {
      text.replace(from, to - from, lines);
    } else {
      EXPECT_EQ(text.substr(from, to - from), lines) << name << " (DOPPEL_WRITE_DOCS=1 writes the page)";
    }
  }
  if (std::getenv("DOPPEL_WRITE_DOCS") != nullptr) std::ofstream(path) << text;
}

}  // namespace
}  // namespace doppel::docs_test
