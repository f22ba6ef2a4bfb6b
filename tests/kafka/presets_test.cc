// A topic for each crawler's format: every fixture of tests/formats/data comes twice, and the events of the
// second ones name the values of its golden document.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "formats/preset_names.h"
#include "kafka/broker.h"
#include "kafka/index_setup.h"
#include "pipeline/sign_record.h"

namespace doppel::testing {
namespace {

namespace fs = std::filesystem;
namespace dom = simdjson::dom;
using ::testing::Contains;
using ::testing::Key;

// Returns the lines "name: value" of a golden document, and its text as `text`.
std::map<std::string, std::string> golden(const fs::path& path) {
  std::map<std::string, std::string> out;
  std::string rest = read_file(path);
  while (!rest.empty()) {
    const size_t colon = rest.find(": ");
    const std::string name = rest.substr(0, colon);
    const size_t end = name == "text" ? rest.size() : std::min(rest.find('\n', colon), rest.size());
    out[name] = rest.substr(colon + 2, end - colon - 2);
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return out;
}

std::string at(const dom::element& event, const std::string& pointer) {
  std::string_view text;
  uint64_t number = 0;
  const auto found = event.at_pointer(pointer);
  if (found.get(text) == simdjson::SUCCESS) return std::string(text);
  if (found.get(number) == simdjson::SUCCESS) return std::to_string(number);
  return "";
}

// Checks the members of `document` that the golden document promises.
void expect_document(const dom::element& event, const std::map<std::string, std::string>& wanted) {
  const std::map<std::string, std::string> members{{"id", "/id"},
                                                   {"url", "/url"},
                                                   {"date", "/date"},
                                                   {"content_type", "/content_type"},
                                                   {"payload_digest", "/digest"},
                                                   {"warc.record_id", "/warc/record_id"},
                                                   {"warc.target_uri", "/warc/target_uri"},
                                                   {"warc.date", "/warc/date"},
                                                   {"warc.filename", "/warc/filename"},
                                                   {"warc.offset", "/warc/offset"}};
  for (const auto& [name, pointer] : members) {
    const auto promised = wanted.find(name);
    if (promised == wanted.end()) continue;
    EXPECT_EQ(at(event, "/document" + pointer), promised->second) << pointer;
  }
}

class PresetTopics : public ::testing::TestWithParam<std::string> {};

TEST_P(PresetTopics, EventsNameWhatTheProducerMeant) {
  std::vector<fs::path> fixtures;
  for (const auto& entry :
       fs::directory_iterator(fs::path(DOPPEL_SOURCE_DIR) / "tests/formats/data" / GetParam())) {
    if (entry.path().extension() == ".in") fixtures.push_back(entry.path());
  }
  std::sort(fixtures.begin(), fixtures.end());
  ASSERT_FALSE(fixtures.empty());

  IndexSetup setup(Broker::shared().bootstrap(),
                   {{"input.format", GetParam()}, {"input.fallback_text", "near"}}, 1);
  Client client(setup.bootstrap());
  std::vector<Message> messages;
  for (const fs::path& path : fixtures) {
    fs::path key = path;
    key.replace_extension(".key");
    Message message{.value = read_file(path)};
    if (fs::exists(key)) message.key = read_file(key);
    messages.push_back(message);
    messages.push_back(message);
  }
  client.produce(setup.input(), messages);
  const auto daemon = setup.serve();
  ASSERT_TRUE(setup.await_all(*daemon)) << daemon->said();
  daemon->terminate();
  ASSERT_EQ(daemon->await_exit(), 0) << daemon->said();

  std::map<uint64_t, std::string> events;  // by the input's offset
  std::string lines;
  dom::parser parser;
  for (const Message& m : read_all(setup.bootstrap(), setup.options().output.topic)) {
    const dom::element event = parser.parse(m.value.value());
    if (at(event, "/type") == "duplicate-of")
      events[std::stoul(at(event, "/document/kafka/offset"))] = *m.value;
    lines += *m.value + "\n";
  }
  write_file(setup.path("events.jsonl"), lines);
  const std::string check =
      fmt::format("'{0}/tests/schema/check_events' '{0}/docs/schema' < '{1}' > '{2}'", DOPPEL_SOURCE_DIR,
                  setup.path("events.jsonl"), setup.path("schema.txt"));
  if (!lines.empty()) {
    EXPECT_EQ(std::system(check.c_str()), 0) << read_file(setup.path("schema.txt"));
  }
  std::map<std::string, std::string> rejected;  // offset, reason
  for (const Message& m : read_all(setup.bootstrap(), setup.options().output.dead_letters))
    rejected[m.header("__connect.errors.offset")] = m.header("__connect.errors.exception.message");

  std::set<std::string> payloads;  // of originals without a text
  for (size_t i = 0; i < fixtures.size(); ++i) {
    SCOPED_TRACE(fixtures[i]);
    fs::path told = fixtures[i];
    const auto wanted = golden(told.replace_extension(".document"));
    const uint64_t second = 2 * i + 1;
    if (wanted.contains("rejected")) {
      EXPECT_THAT(rejected, Contains(Key(std::to_string(second))));
      continue;
    }
    EXPECT_FALSE(rejected.contains(std::to_string(second))) << rejected[std::to_string(second)];
    const auto text = wanted.find("text");
    const auto skip = wanted.find("skip");
    // A document without a text is compared by its payload; one whose text is elsewhere, with earlier
    // payloads.
    const auto payload = wanted.find("payload_digest");
    bool by_payload = false;
    if (skip != wanted.end() && payload != wanted.end()) {
      by_payload = is_bytes_only(reason_of(skip->second));
      if (by_payload) payloads.insert(payload->second);
      by_payload = by_payload ||
                   (is_elsewhere({.skip = reason_of(skip->second)}) && payloads.contains(payload->second));
    }
    if (!by_payload && (skip != wanted.end() || text == wanted.end() || text->second == "\n")) {
      EXPECT_FALSE(events.contains(second)) << events[second];
      continue;
    }
    ASSERT_TRUE(events.contains(second));
    const dom::element event = parser.parse(events[second]);
    // The pages are short. A fallback text is never an exact copy.
    const bool fallback = at(event, "/document/text_source") == "fallback";
    EXPECT_EQ(at(event, "/kind"), fallback ? "near" : "exact");
    if (by_payload) {
      bool same_payload = false;
      EXPECT_EQ(event.at_pointer("/relation/same_payload").get(same_payload), simdjson::SUCCESS);
      EXPECT_TRUE(same_payload);
    }
    expect_document(event, wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PresetTopics, presets_with_fixtures(), preset_test_name);

}  // namespace
}  // namespace doppel::testing
