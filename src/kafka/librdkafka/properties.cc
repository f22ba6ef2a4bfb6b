// Checks whether a property may be set, and whether this build of the library knows it and accepts its value.
// Sends nothing.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {
namespace {

struct Refused {
  std::string_view name, why;
};
// Properties that would break exactly-once delivery, or for which doppel has its own setting.
constexpr Refused kRefused[] = {
    {"bootstrap.servers", "set kafka.brokers"},
    {"metadata.broker.list", "set kafka.brokers"},
    {"group.id", "set kafka.group"},
    {"transactional.id", "set kafka.transactional_id"},
    {"enable.idempotence", "transactions need it"},
    {"acks", "transactions need all"},
    {"request.required.acks", "transactions need all"},
    {"message.send.max.retries", "a dropped message would abort its transaction"},
    {"retries", "a dropped message would abort its transaction"},
    {"message.timeout.ms", "a dropped message would abort its transaction"},
    {"delivery.timeout.ms", "a dropped message would abort its transaction"},
    {"enable.gapless.guarantee", "transactions decide it"},
    {"delivery.report.only.error", "doppel needs the offsets of records"},
    {"enable.auto.commit", "offsets are committed in the transaction of their batch"},
    {"auto.commit.enable", "offsets are committed in the transaction of their batch"},
    {"enable.auto.offset.store", "offsets are committed in the transaction of their batch"},
    {"offset.store.method", "offsets are committed in the transaction of their batch"},
    {"auto.offset.reset", "set kafka.start and kafka.on_data_loss"},
    {"enable.partition.eof", "doppel decides it"},
    {"isolation.level", "doppel reads committed records only"},
    {"topic.blacklist", "it would hide the topics that doppel waits for"},
    {"partition.assignment.strategy", "one index owns all partitions"},
    {"group.instance.id", "one index owns all partitions"},
    {"message.max.bytes", "it follows from the limits of the topics"},
    {"plugin.library.paths", "doppel loads no code at run time"},
};

// All properties of this build, for suggestions. The library only prints them as a table.
std::vector<std::string> known_properties() {
  char* text = nullptr;
  size_t length = 0;
  FILE* table = open_memstream(&text, &length);
  if (table == nullptr) return {};
  rd_kafka_conf_properties_show(table);
  std::fclose(table);
  std::set<std::string> names;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text, length), '\n')) {
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, line.find('|')));
    if (line.find('|') != absl::string_view::npos && name != "Property" && !std_sv(name).starts_with("--"))
      names.emplace(name);
  }
  std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream
  return {names.begin(), names.end()};
}

// Returns what is wrong with one property, or an empty text.
std::string wrong_with(const std::string& full_name, const std::string& value, const Suggest& suggest) {
  std::string_view name = full_name;
  if (!applies(name, true)) {
    name = full_name;
    applies(name, false);
  }
  const auto* refused = std::find_if(std::begin(kRefused), std::end(kRefused),
                                     [&](const Refused& r) { return r.name == name; });
  if (refused != std::end(kRefused)) return fmt::format("{} cannot be set: {}", full_name, refused->why);
  const Conf conf(rd_kafka_conf_new());
  std::array<char, 512> message{};
  switch (rd_kafka_conf_set(conf.get(), std::string(name).c_str(), value.c_str(), message.data(),
                            message.size())) {
    case RD_KAFKA_CONF_OK:
      return {};
    case RD_KAFKA_CONF_UNKNOWN:
      return fmt::format("{}: librdkafka {} has no such property{}", full_name, rd_kafka_version_str(),
                         suggest ? suggest(name, known_properties()) : "");
    default:
      return fmt::format("{}: {}", full_name,
                         is_secret(name) ? "librdkafka does not accept this value" : message.data());
  }
}

std::string value_of(const ClientOptions& options, std::initializer_list<std::string_view> names) {
  std::string out;
  for (const auto& [full_name, value] : options.properties) {
    std::string_view name = full_name;
    if (!applies(name, true)) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) out = value;
  }
  return out;
}

// Says what OAUTHBEARER lacks. Without a source of tokens the library would wait for ever for one from
// doppel.
std::string without_token(const ClientOptions& options, std::string_view mechanism) {
  if (mechanism != "OAUTHBEARER" || value_of(options, {"sasl.oauthbearer.method"}) == "oidc" ||
      value_of(options, {"enable.sasl.oauthbearer.unsecure.jwt"}) == "true")
    return {};
  return "sasl.mechanism: OAUTHBEARER needs a source of tokens: set sasl.oauthbearer.method to "
         "oidc, and "
         "sasl.oauthbearer.token.endpoint.url, .client.id and .client.secret";
}

// Says what is wrong with the mechanism. If this build lacks it, the library's own message is about
// recompiling.
std::string wrong_with_mechanism(const ClientOptions& options, const Suggest& suggest) {
  const std::string mechanism = sasl_mechanism(options);
  if (!security_protocol(options).starts_with("SASL") || mechanism.empty()) return {};
  static constexpr std::pair<std::string_view, std::string_view> kFeatures[] = {
      {"PLAIN", "sasl_plain"},
      {"SCRAM-SHA-256", "sasl_scram"},
      {"SCRAM-SHA-512", "sasl_scram"},
      {"GSSAPI", "sasl_gssapi"},
      {"OAUTHBEARER", "sasl_oauthbearer"}};
  const Conf conf(rd_kafka_conf_new());
  std::array<char, 1024> built{};
  size_t size = built.size();
  rd_kafka_conf_get(conf.get(), "builtin.features", built.data(), &size);
  const std::set<std::string> features = absl::StrSplit(built.data(), ',');
  std::vector<std::string> here;
  for (const auto& [name, feature] : kFeatures)
    if (features.contains(std::string(feature))) here.emplace_back(name);
  if (std::find(here.begin(), here.end(), mechanism) != here.end()) return without_token(options, mechanism);
  const bool real = std::any_of(std::begin(kFeatures), std::end(kFeatures),
                                [&](const auto& known) { return known.first == mechanism; });
  return fmt::format("sasl.mechanism: {} {} librdkafka ({}){}; it has {}", mechanism,
                     real ? "is not in this build of" : "is not known to", rd_kafka_version_str(),
                     suggest ? suggest(mechanism, here) : "", absl::StrJoin(here, ", "));
}

}  // namespace

bool applies(std::string_view& name, bool consumer) {
  for (const auto& [prefix, for_consumer] :
       {std::pair<std::string_view, bool>{"consumer.", true}, {"producer.", false}}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    return for_consumer == consumer;
  }
  return true;
}

bool is_secret(std::string_view property) {
  for (const std::string_view word : {"password", "secret", "key.pem", "token", "oauthbearer.config", "jaas"})
    if (property.find(word) != std::string_view::npos) return true;
  return false;
}

std::string library_version() { return rd_kafka_version_str(); }

std::string security_protocol(const ClientOptions& options) {
  const std::string value = value_of(options, {"security.protocol"});
  return value.empty() ? "PLAINTEXT" : absl::AsciiStrToUpper(value);
}

std::string sasl_mechanism(const ClientOptions& options) {
  return value_of(options, {"sasl.mechanism", "sasl.mechanisms"});
}

absl::Status check_properties(const ClientOptions& options, const Suggest& suggest) {
  std::vector<std::string> wrong;
  for (const auto& [name, value] : options.properties)
    if (std::string what = wrong_with(name, value, suggest); !what.empty()) wrong.push_back(std::move(what));
  if (wrong.empty())
    if (std::string what = wrong_with_mechanism(options, suggest); !what.empty()) wrong.push_back(what);
  if (!wrong.empty()) return invalid("kafka.properties: " + absl::StrJoin(wrong, "\nkafka.properties: "));
  // Only creating the clients shows whether the properties fit together. Without brokers they connect to
  // nobody.
  ClientOptions alone = options;
  alone.brokers.clear();
  RETURN_IF_ERROR(make_consumer(alone, {{"log_level", "0"}}).status());
  return make_producer(alone, {{"log_level", "0"}}).status();
}

}  // namespace doppel::kafka
