#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "absl/strings/str_split.h"
#include "config/keys.h"
#include "config/yaml_file.h"

namespace doppel {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file doppel.yaml in a temporary directory; messages are compared without the directory.
class ConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/doppel_config_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    file_ = directory_ + "/doppel.yaml";
  }
  void TearDown() override {
    unlink(file_.c_str());
    rmdir(directory_.c_str());
  }

  absl::StatusOr<Config> load(const std::string& yaml, ConfigInputs inputs = {}) {
    std::ofstream(file_, std::ios::binary) << yaml;
    inputs.file = file_;
    return load_config(inputs);
  }

  std::vector<std::string> errors(const std::string& yaml, ConfigInputs inputs = {}) {
    auto config = load(yaml, std::move(inputs));
    if (config.ok()) return {};
    std::vector<std::string> lines = absl::StrSplit(config.status().message(), '\n');
    for (std::string& line : lines) {
      if (line.rfind(directory_ + "/", 0) == 0) line.erase(0, directory_.size() + 1);
    }
    return lines;
  }

  std::string directory_, file_;
};

std::vector<std::string> values(const Config& config) {
  std::vector<std::string> all;
  for (const Setting& setting : config.settings) all.push_back(setting.key + ": " + setting.value);
  return all;
}

TEST_F(ConfigTest, NothingGivesTheDefaults) {
  auto config = load_config({});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->options.threshold, 0.8);
  EXPECT_EQ(config->settings.size(), config_keys().size());
  for (size_t i = 0; i < config_keys().size(); ++i) {
    EXPECT_EQ(config->settings[i].key, config_keys()[i].name);
    EXPECT_EQ(config->settings[i].value, config_keys()[i].default_value);
    EXPECT_EQ(config->settings[i].origin, "default");
  }
  EXPECT_THAT(errors(""), IsEmpty());
  EXPECT_THAT(errors("# nothing\nstate:\n  # nothing\n"), IsEmpty());
}

TEST_F(ConfigTest, EveryKindOfValueArrives) {
  auto config = load(R"(
threshold: 0.7
bands: 20
rows: 5
verify: signature
expire_after: 30d
batch_bytes: 64k
state: {directory: "/a b", fsync: commit, checkpoint_documents: 1_000}
input:
  text: [/a/b, body]
  url: link, href
  scope: []
  tags: {crawl: /crawl_name, year: /year}
)");
  ASSERT_TRUE(config.ok()) << config.status();
  const Options& o = config->options;
  EXPECT_EQ(o.threshold, 0.7);
  EXPECT_EQ(o.bands, 20);
  EXPECT_EQ(o.rows, 5);
  EXPECT_EQ(o.verify, Verify::signature);
  EXPECT_EQ(o.expire_after_ms, int64_t{30} * 86'400'000);
  EXPECT_EQ(o.batch_bytes, 65'536u);
  EXPECT_EQ(o.state_directory, "/a b");
  EXPECT_EQ(o.fsync, Fsync::commit);
  EXPECT_EQ(o.checkpoint_documents, 1000u);
  EXPECT_THAT(o.input.text_fields, ElementsAre("/a/b", "body"));
  EXPECT_THAT(o.input.url_fields, ElementsAre("link", "href"));
  EXPECT_THAT(o.input.scope_fields, IsEmpty());
  EXPECT_THAT(o.input.tag_fields, ElementsAre("crawl=/crawl_name", "year=/year"));
}

// Each of the million thresholds with six digits is the nearest double, and the integer of its digits.
TEST_F(ConfigTest, ThresholdIsNeverRounded) {
  const Key* key = find_key("threshold");
  Options options;
  char text[16];
  for (uint32_t ppm = 1; ppm <= 1'000'000; ++ppm) {
    snprintf(text, sizeof text, "%u.%06u", ppm / 1'000'000, ppm % 1'000'000);
    ASSERT_EQ(key->set(options, {false, {text}}), "");
    ASSERT_EQ(std::llround(options.threshold * 1e6), ppm);
    ASSERT_EQ(options.threshold, strtod(text, nullptr));
  }
}

TEST_F(ConfigTest, AllErrorsAreShownWithTheirLine) {
  EXPECT_THAT(
      errors(R"(threshold: 1.4
stat: {directory: x}
state:
  fsnyc: commit
  fsync: sometimes
  fsync: commit
fsync: none
bands:
rows: [1, 2]
input: {text: {a: b}, id: [a, [b]], url: [a, ""]}
max_record: 64x
expire_after: 90
num_perm: 12.5
shards: 0
hash_key_file: 00112233445566778899aabbccddeeff
recall: 0.9999999
)"),
      ElementsAre(
          "doppel.yaml:1: threshold: 1.4 is not between 0.000001 and 1 (0.5 to 0.95 are usual)",
          "doppel.yaml:2: stat: no such key (did you mean state?)",
          "doppel.yaml:4: state.fsnyc: no such key (did you mean state.fsync?)",
          "doppel.yaml:5: state.fsync: sometimes is not one of none, checkpoint, commit",
          "doppel.yaml:6: state.fsync: set twice, first in line 5",
          "doppel.yaml:7: fsync: no such key (did you mean state.fsync?)",
          "doppel.yaml:8: bands: no value; leave the line out for the default, 0",
          "doppel.yaml:9: rows: expected one integer, found a list",
          "doppel.yaml:10: input.text: expected list of text, found a group of settings",
          "doppel.yaml:10: input.id: a list in the list",
          "doppel.yaml:10: input.url: an item of the list is empty",
          "doppel.yaml:11: max_record: 64x is not a size (such as 1000, 64KiB, 8MiB, 1GB)",
          "doppel.yaml:12: expire_after: 90 is not a duration (such as 30d, 12h, 90s, 500ms) or never",
          "doppel.yaml:13: num_perm: 12.5 is not an integer",
          "doppel.yaml:14: shards: 0 is not between 1 and 256",
          "doppel.yaml:15: hash_key_file: this looks like the key itself; give the path of a file that "
          "holds it, or set DOPPEL_HASH_KEY",
          "doppel.yaml:16: recall: 0.9999999 is not a number with at most six digits after the point"));
}

TEST_F(ConfigTest, WhatIsNotYamlIsAnErrorWithItsLine) {
  EXPECT_THAT(errors("threshold: 0.8\ninput: {id: [a\nbands: 1\n"),
              ElementsAre(HasSubstr("this is not YAML")));
  EXPECT_THAT(errors("threshold: 0.8\n\tbands: 1\n"),
              ElementsAre(HasSubstr("doppel.yaml:2: this is not YAML")));
  EXPECT_THAT(errors("- a\n- b\n"),
              ElementsAre("doppel.yaml:1: the file: expected lines of the form 'key: value', not a list"));
  EXPECT_THAT(errors("just text\n"), ElementsAre(HasSubstr("doppel.yaml:1: the file: expected lines")));
  EXPECT_THAT(errors("state: 5\n"),
              ElementsAre("doppel.yaml:1: state: expected lines of the form 'key: value', not 5"));
  EXPECT_THAT(errors("bands: 0\n---\nrows: 0\n"), ElementsAre(HasSubstr("a second document")));
  EXPECT_THAT(errors("? [a, b]\n: c\n"), ElementsAre("doppel.yaml:1: a key must be a word, not a list"));
  EXPECT_THAT(errors("bands: *nowhere\n"), ElementsAre(HasSubstr("doppel.yaml:1: this is not YAML")));
  EXPECT_THAT(errors("state: &s\n  directory: *s\n"), ElementsAre(HasSubstr("doppel.yaml:2: ")));
  EXPECT_THAT(errors(std::string(100'000, '[')), ElementsAre(HasSubstr("this is not YAML")));
  EXPECT_THAT(errors(std::string(2 << 20, ' ')), ElementsAre(HasSubstr("larger than 1 MiB")));
}

TEST_F(ConfigTest, AFileThatCannotBeReadIsNamed) {
  ConfigInputs inputs;
  inputs.file = "nowhere/doppel.yaml";
  EXPECT_EQ(load_config(inputs).status().message(), "nowhere/doppel.yaml: No such file or directory");
  inputs.file = "/tmp";
  EXPECT_EQ(load_config(inputs).status().message(), "/tmp: Is a directory");
}

TEST_F(ConfigTest, LaterSourcesOverrideEarlierOnes) {
  ConfigInputs inputs;
  inputs.environment = {"DOPPEL_STATE_FSYNC=none", "DOPPEL_MAX_CHECKS=7", "DOPPEL_INPUT_ID=a, b"};
  inputs.sets = {{"max_checks", "8"}, {"max_checks", "9"}};
  auto config = load("state: {fsync: commit}\nmax_checks: 6\nthreads: 2\n", inputs);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->options.fsync, Fsync::none);
  EXPECT_EQ(config->options.max_checks, 9);
  EXPECT_THAT(config->options.input.id_fields, ElementsAre("a", "b"));
  std::set<std::string> origins;
  for (const Setting& s : config->settings) origins.insert(s.key + " " + s.origin);
  EXPECT_THAT(origins, Contains("state.fsync environment DOPPEL_STATE_FSYNC"));
  EXPECT_THAT(origins, Contains("max_checks command line"));
  EXPECT_THAT(origins, Contains("threads " + file_ + ":3"));
  EXPECT_THAT(origins, Contains("shards default"));
}

TEST_F(ConfigTest, EnvironmentAndCommandLineAreCheckedToo) {
  ConfigInputs inputs;
  inputs.environment = {"DOPPEL_STATE_FSNYC=none", "DOPPEL_THRESHOLD=high"};
  inputs.sets = {{"treshold", "1"}, {"bands", ""}, {"nothing.like.it", "1"}};
  EXPECT_THAT(
      errors("threads: x\n", inputs),
      ElementsAre(
          "doppel.yaml:1: threads: x is not an integer",
          "environment DOPPEL_STATE_FSNYC: no such setting (did you mean DOPPEL_STATE_FSYNC?)",
          "environment DOPPEL_THRESHOLD: threshold: high is not a number with at most six digits after "
          "the point",
          "command line: treshold: no such key (did you mean threshold?)",
          "command line: bands: an empty text is not an integer",
          "command line: nothing.like.it: no such key"));
}

// A service of that name puts them into every container of its namespace.
TEST_F(ConfigTest, VariablesOfAServiceCalledDoppelAreNoSettings) {
  ConfigInputs inputs;
  inputs.environment = {"DOPPEL_SERVICE_HOST=10.0.0.7",
                        "DOPPEL_SERVICE_PORT=9464",
                        "DOPPEL_SERVICE_PORT_HTTP=9464",
                        "DOPPEL_PORT=tcp://10.0.0.7:9464",
                        "DOPPEL_PORT_9464_TCP=tcp://10.0.0.7:9464",
                        "DOPPEL_PORT_9464_TCP_PROTO=tcp",
                        "DOPPEL_PORT_9464_TCP_PORT=9464",
                        "DOPPEL_PORT_9464_TCP_ADDR=10.0.0.7",
                        "DOPPEL_MATCHERS_SERVICE_HOST=10.0.0.8",
                        "DOPPEL_MATCHERS_PORT=udp://10.0.0.8:1",
                        "DOPPEL_MATCHERS_PORT_1_UDP_ADDR=10.0.0.8"};
  EXPECT_THAT(errors("", inputs), IsEmpty());
  inputs.environment = {"DOPPEL_PORT=9464", "DOPPEL_HTTP_PORT_NAME=x", "DOPPEL_SERVICE=x"};
  EXPECT_THAT(errors("", inputs), ElementsAre(HasSubstr("environment DOPPEL_PORT: no such setting"),
                                              HasSubstr("environment DOPPEL_HTTP_PORT_NAME: no such setting"),
                                              HasSubstr("environment DOPPEL_SERVICE: no such setting")));
}

TEST_F(ConfigTest, ValuesMustFitTogether) {
  EXPECT_THAT(errors("threads: 1\nbands: 40\nrows: 6\n"),
              ElementsAre("doppel.yaml:2: bands: 40 bands x 6 rows need 240 slots, num_perm is 128"));
  EXPECT_THAT(
      errors("rows: 6\n"),
      ElementsAre("doppel.yaml:1: rows: bands is 0 and rows is 6; set both, or neither to have them chosen"));
  EXPECT_THAT(errors("threads: 1\nthreshold: 0.01\n"),
              ElementsAre(HasSubstr("doppel.yaml:2: threshold: no banding of")));
  EXPECT_THAT(
      errors("recall: 1\n"),
      ElementsAre("doppel.yaml:1: recall: 1 is not between 0.000001 and 0.999999 (0.95 to 0.999 are usual)"));
  EXPECT_THAT(errors("bands: 4\nrows: 20\n"), IsEmpty());
  EXPECT_THAT(
      errors("bands: 4\nrows: 20\nrecall: 0.9\n"),
      ElementsAre(
          "doppel.yaml:3: recall: 4 x 20 bands and rows reach 0.0453 at threshold 0.8; change them, or "
          "leave recall out"));
  EXPECT_THAT(errors("input:\n  text: []\n"),
              ElementsAre("doppel.yaml:2: input.text: at least one field is needed"));
  EXPECT_THAT(errors("input:\n  id: [id, /a~b]\n"),
              ElementsAre(HasSubstr("doppel.yaml:2: input.id: \"/a~b\" is not a JSON pointer")));
  EXPECT_THAT(errors("threshold: 0\n"),
              ElementsAre(HasSubstr("doppel.yaml:1: threshold: 0 is not between 0.000001 and 1")));
}

TEST_F(ConfigTest, TheEnvironmentIsReadWithoutWhatIsNotConfiguration) {
  setenv("DOPPEL_THREADS", "3", 1);
  setenv("DOPPEL_HASH_KEY", "secret", 1);
  setenv("DOPPEL_CONFIG", "file", 1);
  EXPECT_THAT(config_environment(), Contains("DOPPEL_THREADS=3"));
  for (const std::string& variable : config_environment()) {
    EXPECT_THAT(variable, Not(HasSubstr("HASH_KEY=")));
    EXPECT_THAT(variable, Not(HasSubstr("DOPPEL_CONFIG")));
  }
  unsetenv("DOPPEL_THREADS");
  unsetenv("DOPPEL_HASH_KEY");
  unsetenv("DOPPEL_CONFIG");
}

TEST_F(ConfigTest, NamesInTheEnvironmentAreUnambiguous) {
  std::set<std::string> names;
  for (const KeyInfo& key : config_keys()) names.insert(environment_name(key.name));
  EXPECT_EQ(names.size(), config_keys().size());
  EXPECT_THAT(names, Contains("DOPPEL_STATE_CHECKPOINT_DOCUMENTS"));
}

TEST_F(ConfigTest, AvroNeedsASchema) {
  const std::string avro = "input:\n  format: avro\n";
  EXPECT_THAT(errors(avro),
              ElementsAre(AllOf(HasSubstr("doppel.yaml:2: input.format: avro"),
                                HasSubstr("schema_registry.url"), HasSubstr("input.schema_file"))));
  const std::string with = avro + "schema_registry:\n  url: ";
  EXPECT_THAT(errors(with + "https://a:8081/apis/ccompat/v7"), IsEmpty());
  EXPECT_THAT(errors(with + "[https://a:8081, http://b]"), IsEmpty());
  EXPECT_THAT(errors(with + "a:8081"), ElementsAre(HasSubstr("a:8081 is not an address such as")));
  EXPECT_THAT(errors(with + "https://me:secret@a"),
              ElementsAre(HasSubstr("schema_registry.credentials_file")));
  EXPECT_THAT(errors(avro + "  framing: none\nschema_registry:\n  url: https://a\n"),
              Contains(HasSubstr("input.framing")));
  // A reader of signed records needs no schema.
  EXPECT_THAT(errors("input:\n  format: signed\n  signed_format: avro\n"), IsEmpty());
}

TEST_F(ConfigTest, RolesThatCannotWorkAreRefusedByName) {
  const std::string kafka = "kafka:\n  brokers: b:9092\n  topics: [signed]\ninput:\n  format: signed\n";
  const std::string matcher = kafka + "cluster:\n  role: matcher\n  shards: ";
  const std::string resolver = kafka + "cluster:\n  role: resolver\n";
  EXPECT_THAT(errors(matcher + "0-31/64\n"), IsEmpty());
  EXPECT_THAT(errors(resolver), IsEmpty());
  EXPECT_THAT(errors(matcher + "0-64/64\n"), Contains(HasSubstr("there are only shards 0 to 63")));
  EXPECT_THAT(errors(kafka + "cluster:\n  role: matcher\n"),
              Contains(HasSubstr("a matcher needs its shards")));
  EXPECT_THAT(errors(resolver + "  shards: 0/4\n"), Contains(HasSubstr("only a matcher has shards")));
  EXPECT_THAT(errors("cluster:\n  role: resolver\n"), Contains(HasSubstr("set kafka.brokers")));
  EXPECT_THAT(errors("kafka:\n  brokers: b:9092\n  topics: [a, b]\ncluster:\n  role: resolver\n"),
              Contains(HasSubstr("one topic of signed records")));
  EXPECT_THAT(errors(resolver + "  ahead: 100\n"), Contains(HasSubstr("less than a batch (4000)")));
  EXPECT_THAT(errors(resolver + "dry_run: true\n"), Contains(HasSubstr("a dry run needs the whole index")));
}

TEST_F(ConfigTest, ASettingOfAnEarlierVersionSaysWhatTakesItsPlace) {
  const std::string client = "kafka.client_id is gone: set client.id under kafka.properties";
  EXPECT_THAT(errors("kafka:\n  client_id: me\n"), ElementsAre(AllOf(HasSubstr(":2: "), HasSubstr(client))));
  EXPECT_THAT(errors("", {"", {{"kafka.client_id", "me"}}, {}}), ElementsAre("command line: " + client));
  EXPECT_THAT(errors("", {"", {}, {"DOPPEL_KAFKA_CLIENT_ID=me"}}),
              ElementsAre("environment DOPPEL_KAFKA_CLIENT_ID: " + client));
  EXPECT_THAT(errors("stall_timeout: 1m\n"), ElementsAre(HasSubstr("stall_timeout is gone: ")));
  EXPECT_THAT(errors("stall_time: 1m\n"), ElementsAre(HasSubstr("stall_time: no such key")));
}

TEST_F(ConfigTest, DoppelGoesByPropertiesOfKafka) {
  const auto config = load(R"(
kafka:
  properties:
    session.timeout.ms: 6000
    transaction.timeout.ms: 1000
    producer.transaction.timeout.ms: 90000
    linger.ms: 0
    consumer.queued.max.messages.kbytes: 2048
    topic.metadata.refresh.interval.ms: 200
)");
  ASSERT_TRUE(config.ok()) << config.status();
  const Options::Kafka& kafka = config->options.kafka;
  EXPECT_EQ(kafka.session_timeout_ms, 6'000);
  EXPECT_EQ(kafka.transaction_timeout_ms, 90'000);
  EXPECT_EQ(kafka.batch_ms, 0);
  EXPECT_EQ(kafka.fetch_queue, 2u << 20);
  EXPECT_EQ(kafka.metadata_interval_ms, 200);
  for (const auto& [property, why] : std::vector<std::pair<std::string, std::string>>{
           {"session.timeout.ms=999", "session.timeout.ms: 999 is not between 1000 and 3600000"},
           {"session.timeout.ms=10s", "session.timeout.ms: 10s is not between"},
           {"linger.ms=-1", "linger.ms: -1 is not between 0 and 900000"},
           {"transaction.timeout.ms=2147483648", "is not between 1000 and 2147483647"},
           {"queued.max.messages.kbytes=1023", "is not between 1024 and 2097151"},
           {"topic.metadata.refresh.interval.ms=", "an empty text is not between 100 and 3600000"}}) {
    EXPECT_THAT(errors("", {"", {{"kafka.properties", property}}, {}}),
                ElementsAre(AllOf(HasSubstr("command line: kafka.properties: "), HasSubstr(why))));
  }
}

TEST_F(ConfigTest, AnIndexLogIsCalledAsItsGroup) {
  const auto name = [&](const std::string& yaml) {
    const auto config = load(yaml, {});
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? config->options.kafka.index_log : "";
  };
  EXPECT_EQ(name("kafka: {topics: [a]}\n"), "doppel-index");
  EXPECT_EQ(name("kafka: {topics: [a], group: news}\n"), "news-index");
  EXPECT_EQ(name("kafka: {topics: [a], group: news, index_log: doppel-index}\n"), "doppel-index");
}

TEST_F(ConfigTest, TemplatesAreCutUnlessCommonAfterSaysOtherwise) {
  const auto common_after = [&](const std::string& yaml) {
    const auto config = load("relations: [near, shares]\n" + yaml);
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? config->options.common_after : 0;
  };
  EXPECT_EQ(common_after(""), 20);
  EXPECT_EQ(common_after("cut: shares\n"), 500);
  EXPECT_EQ(common_after("cut: shares\ncommon_after: 20\n"), 20);
}

// The same file for all roles: signers read the topics and write the order, which the others read.
TEST_F(ConfigTest, RolesShareOneConfiguration) {
  const std::string shared =
      "kafka:\n  brokers: b:9092\n  topics: [a, b]\ninput:\n  format: html\n"
      "cluster:\n  order: signed\n  role: ";
  const auto read = [&](const std::string& rest) {
    const auto config = load(shared + rest);
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? *config : Config{};
  };
  for (const char* part : {"resolver\n", "matcher\n  shards: 0/1\n"}) {
    const Config config = read(part);
    EXPECT_THAT(config.options.kafka.topics, ElementsAre("signed"));
    EXPECT_EQ(config.options.input.format, "signed");
    EXPECT_EQ(config.options.input.signed_format, "html");
    const auto topics = std::find_if(config.settings.begin(), config.settings.end(),
                                     [](const Setting& setting) { return setting.key == "kafka.topics"; });
    EXPECT_EQ(topics->origin, "cluster.order");
  }
  for (const char* whole : {"signer\n", "all\n"}) {
    const Config config = read(whole);
    EXPECT_THAT(config.options.kafka.topics, ElementsAre("a", "b"));
    EXPECT_EQ(config.options.input.format, "html");
  }
}

TEST_F(ConfigTest, SignersThatCannotWorkAreRefusedByName) {
  const std::string kafka = "kafka:\n  brokers: b:9092\n  topics: [documents]\n";
  const std::string signer = kafka + "cluster:\n  role: signer\n";
  EXPECT_THAT(errors(signer + "  order: signed\n"), IsEmpty());
  EXPECT_THAT(errors(signer), Contains(HasSubstr("name it in cluster.order")));
  EXPECT_THAT(errors(signer + "  order: documents\n"),
              Contains(HasSubstr("documents is one of kafka.topics")));
  EXPECT_THAT(errors(signer + "  order: signed\n  shards: 0/4\n"),
              Contains(HasSubstr("only a matcher has shards")));
  EXPECT_THAT(errors(signer + "  order: signed\ninput:\n  format: signed\n"),
              Contains(HasSubstr("a signer reads documents")));
  EXPECT_THAT(errors("cluster:\n  role: signer\n  order: signed\n"),
              Contains(HasSubstr("set kafka.brokers")));
}

// --role and --shards are settings, and so is the environment of a pod.
TEST_F(ConfigTest, WrongShardsAreNamedWithTheirOrigin) {
  const ConfigInputs matcher{.sets = {{"kafka.brokers", "b:9092"},
                                      {"kafka.topics", "signed"},
                                      {"input.format", "signed"},
                                      {"cluster.role", "matcher"}}};
  const auto by_flag = [&](const std::string& key, const std::string& value) {
    ConfigInputs inputs = matcher;
    inputs.sets.emplace_back(key, value);
    return errors("", inputs);
  };
  EXPECT_THAT(by_flag("cluster.shards", "3/4"), IsEmpty());
  EXPECT_THAT(by_flag("cluster.shards", ""), Contains(HasSubstr("a matcher needs its shards, for instance")));
  const std::string origin = "command line: cluster.shards: shards ";
  for (const auto& [value, why] : std::vector<std::pair<std::string, std::string>>{
           {"0-15", "the number of all shards is missing"},
           {"4/4", "there are only shards 0 to 3"},
           {"2-1/4", "the range 2-1 ends before it begins"},
           {"0-2,2-3/4", "shard 2 is named twice"},
           {"0/4,1/8", "the number of all shards comes once"},
           {"0/4097", "the number of all shards is from 1 to 4096"},
       }) {
    EXPECT_THAT(by_flag("cluster.shards", value), Contains(AllOf(HasSubstr(origin), HasSubstr(why))))
        << value;
  }
  for (const char* role : {"Signer", "Matcher", "matcher,resolver", ""})
    EXPECT_THAT(by_flag("cluster.role", role), Contains(HasSubstr("command line: cluster.role: "))) << role;

  ConfigInputs pod = matcher;
  pod.environment = {"DOPPEL_CLUSTER_SHARDS=2/4"};
  EXPECT_THAT(errors("", pod), IsEmpty());
  pod.environment = {"DOPPEL_CLUSTER_SHARDS=/4"};  // a pod without the label that the number comes from
  EXPECT_THAT(errors("", pod),
              Contains(AllOf(HasSubstr("environment DOPPEL_CLUSTER_SHARDS: cluster.shards: shards \"/4\""),
                             HasSubstr("numbers and ranges of numbers are expected"))));
}

TEST_F(ConfigTest, EveryKeyExplainsItself) {
  for (const KeyInfo& key : config_keys()) {
    EXPECT_GT(key.help.size(), 20u) << key.name;
    EXPECT_EQ(key.help.back(), '.') << key.name;
    EXPECT_FALSE(key.default_value.empty()) << key.name;
    EXPECT_FALSE(key.type.empty()) << key.name;
  }
}

// Settings that are written as a file are read back unchanged.
TEST_F(ConfigTest, ReadsWhatItWrites) {
  rc::check([&] {
    auto text = rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
    ConfigInputs inputs;
    inputs.sets = {{"state.directory", *text},
                   {"files.rejects", *text},
                   {"threshold", "0." + std::to_string(*rc::gen::inRange(600'000, 999'999))},
                   {"batch_bytes", std::to_string(*rc::gen::inRange(1, 1000)) + "k"},
                   {"expire_after", std::to_string(*rc::gen::inRange(1, 1000)) + "h"}};
    auto config = load_config(inputs);
    RC_ASSERT(config.ok());
    std::string yaml;
    for (const std::string& line : values(*config)) yaml += line + "\n";
    auto again = load(yaml);
    RC_ASSERT(again.ok());
    RC_ASSERT(values(*again) == values(*config));
    RC_ASSERT(again->options.state_directory == inputs.sets[0].second);
  });
}

// The file that users copy: it contains every key, with its default, under a comment of its own group.
TEST_F(ConfigTest, TheShippedFileIsComplete) {
  std::string shipped = std::string(DOPPEL_SOURCE_DIR) + "/config/doppel.yaml";
  std::vector<std::string> wrong;
  std::set<std::string> seen;
  read_yaml_file(
      shipped, [&](const Key& key, const RawValue&, const std::string&) { seen.insert(key.info.name); },
      wrong);
  EXPECT_THAT(wrong, IsEmpty());
  for (const KeyInfo& key : config_keys()) EXPECT_THAT(seen, Contains(key.name));

  auto config = load_config({shipped, {}, {}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(values(*config), values(*load_config({})));
}

}  // namespace
}  // namespace doppel
