// kafka.properties: names and values from three sources, some of them secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "config/config.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class NamedValues : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    const std::string path = testing::TempDir() + "/" + std::to_string(::getpid()) + "-" + name;
    std::ofstream(path) << content;
    return path;
  }
  absl::StatusOr<Config> load_all(const std::string& yaml, std::vector<std::string> environment = {},
                                  std::vector<std::pair<std::string, std::string>> sets = {}) {
    return load_config({file("doppel.yaml", yaml), std::move(sets), std::move(environment)});
  }
  std::vector<std::string> properties(const std::string& yaml, std::vector<std::string> environment = {},
                                      std::vector<std::pair<std::string, std::string>> sets = {}) {
    const absl::StatusOr<Config> config = load_all(yaml, std::move(environment), std::move(sets));
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? config->options.kafka.properties : std::vector<std::string>{};
  }
};

constexpr const char* kFile =
    "kafka:\n  properties:\n    security.protocol: SASL_SSL\n    sasl.password: old\n";

TEST_F(NamedValues, AddUpNameByName) {
  EXPECT_THAT(properties(kFile, {"DOPPEL_KAFKA_PROPERTIES=sasl.password=new"}),
              ElementsAre("security.protocol=SASL_SSL", "sasl.password=new"));
  EXPECT_THAT(properties(kFile, {"DOPPEL_KAFKA_PROPERTIES=sasl.password=new,client.rack=a"},
                         {{"kafka.properties", "client.rack=b"}}),
              ElementsAre("security.protocol=SASL_SSL", "sasl.password=new", "client.rack=b"));
  EXPECT_THAT(properties(kFile, {"DOPPEL_KAFKA_PROPERTIES=[]"}).size(), 2);
}

TEST_F(NamedValues, OneNameTakesAnyValue) {
  EXPECT_THAT(properties(kFile, {}, {{"kafka.properties.sasl.password", "a,b=c [d]"}}),
              ElementsAre("security.protocol=SASL_SSL", "sasl.password=a,b=c [d]"));
  EXPECT_THAT(properties(kFile, {"DOPPEL_KAFKA_PROPERTIES_SASL_PASSWORD=x,y"}),
              ElementsAre("security.protocol=SASL_SSL", "sasl.password=x,y"));
  EXPECT_THAT(properties("kafka:\n  properties.sasl.password: p\n"), ElementsAre("sasl.password=p"));
  EXPECT_THAT(properties("kafka:\n  properties: {sasl: {mechanism: PLAIN}}\n"),
              ElementsAre("sasl.mechanism=PLAIN"));
}

TEST_F(NamedValues, SecretsComeFromFiles) {
  const std::string secret = file("password", "a=b, c\n");
  EXPECT_THAT(properties("kafka:\n  properties:\n    sasl.password: {file: " + secret + "}\n"),
              ElementsAre("sasl.password=a=b, c"));
  const absl::StatusOr<Config> missing =
      load_all("kafka:\n  properties:\n    sasl.password: {file: /nowhere/at/all}\n");
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("doppel.yaml:3: kafka.properties.sasl.password: file /nowhere/at/all: No such file"));
}

TEST_F(NamedValues, NoMessageShowsAValue) {
  const absl::StatusOr<Config> comma = load_all(kFile, {"DOPPEL_KAFKA_PROPERTIES=sasl.password=pass,word"});
  EXPECT_THAT(std::string(comma.status().message()), HasSubstr("item 2 of 2 is not of the form name=value"));
  EXPECT_THAT(std::string(comma.status().message()), HasSubstr("kafka.properties.NAME"));
  EXPECT_THAT(std::string(comma.status().message()), Not(HasSubstr("word")));
  const absl::StatusOr<Config> config = load_all(kFile);
  ASSERT_TRUE(config.ok());
  for (const Setting& setting : config->settings) EXPECT_THAT(setting.value, Not(HasSubstr("old")));
}

TEST_F(NamedValues, AnUnknownKeyStaysOne) {
  EXPECT_FALSE(load_all("", {"DOPPEL_KAFKA_PROPERTY_X=1"}).ok());
  EXPECT_FALSE(load_all("", {}, {{"kafka.x", "1"}}).ok());
  EXPECT_FALSE(load_all("", {}, {{"kafka.properties.", "1"}}).ok());
}

}  // namespace
}  // namespace doppel
