// Settings come from the file, the environment and the command line; later ones override earlier ones. Every
// setting is parsed when it is read, so a mistake is reported even if a later value overrides it.
#include "config/config.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/strings.h"
#include "config/keys.h"
#include "config/values.h"
#include "config/yaml_file.h"
#include "engine/rule.h"
#include "engine/settings.h"
#include "engine/shard_set.h"
#include "fmt/format.h"
#include "index/banding.h"

namespace doppel {
namespace {

// Whether the variable is not a setting but describes a service called doppel, doppel-metrics and so on.
// Kubernetes and Docker set such variables in every container: DOPPEL_SERVICE_HOST, DOPPEL_SERVICE_PORT_HTTP,
// DOPPEL_PORT=tcp://..., DOPPEL_PORT_9464_TCP_ADDR.
bool is_of_a_service(std::string_view name, std::string_view value) {
  const auto is_one = [](std::string_view text, std::initializer_list<std::string_view> all) {
    return std::any_of(all.begin(), all.end(), [&](std::string_view one) { return text == one; });
  };
  if (name.ends_with("_SERVICE_HOST")) return true;
  constexpr std::string_view kService = "_SERVICE_PORT", kPort = "_PORT";
  if (const size_t at = name.find(kService); at != std::string_view::npos) {
    const std::string_view rest = name.substr(at + kService.size());
    if (rest.empty() || rest.front() == '_') return true;
  }
  const size_t scheme = std::min(value.find("://"), value.size());
  if (name.ends_with(kPort) && scheme < value.size() &&
      is_one(value.substr(0, scheme), {"tcp", "udp", "sctp"}))
    return true;
  for (size_t at = name.find(kPort); at != std::string_view::npos; at = name.find(kPort, at + 1)) {
    std::string_view rest = name.substr(at + kPort.size());
    if (!rest.starts_with('_')) continue;
    rest.remove_prefix(1);
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0 || !rest.substr(digits).starts_with('_')) continue;
    rest.remove_prefix(digits + 1);
    const size_t protocol = std::min(rest.find('_'), rest.size());
    if (is_one(rest.substr(0, protocol), {"TCP", "UDP", "SCTP"}) &&
        is_one(rest.substr(protocol), {"", "_PROTO", "_PORT", "_ADDR"}))
      return true;
  }
  return false;
}

class Loader {
 public:
  void file(const std::string& path) {
    auto set_value = [this](const Key& key, const RawValue& value, const std::string& where) {
      set(key, value, where);
    };
    read_yaml_file(path, set_value, errors_);
  }

  void environment(const std::string& variable) {
    size_t equals = std::min(variable.find('='), variable.size());
    std::string name = variable.substr(0, equals);
    std::string value = equals < variable.size() ? variable.substr(equals + 1) : "";
    std::vector<std::string> known{"DOPPEL_CONFIG", "DOPPEL_HASH_KEY", "DOPPEL_HTTP_TOKEN", "DOPPEL_SIMD"};
    for (const Key& key : all_keys()) {
      known.push_back(environment_name(key.info.name));
      if (known.back() == name) return set(key, {false, {value}}, "environment " + name);
    }
    std::string rest;
    if (const Key* key = find_named_variable(name, rest))
      return set(*key, {true, {rest + "=" + value}}, "environment " + name);
    if (is_of_a_service(name, value)) return;
    const std::string gone = retired_variable(name);
    errors_.push_back(gone.empty() ? fmt::format("environment {}: no such setting{}", shown(name),
                                                 did_you_mean(name, known))
                                   : fmt::format("environment {}: {}", name, gone));
  }

  void command_line(const std::string& name, const std::string& value) {
    const Key* key = find_key(name);
    if (key != nullptr) return set(*key, {false, {value}}, "command line");
    std::string rest;
    if (const Key* named = find_named(name, rest))
      return set(*named, {true, {rest + "=" + value}}, "command line");
    const std::string gone = retired(name);
    errors_.push_back("command line: " + (gone.empty() ? fmt::format("{}: no such key{}", shown(name),
                                                                     did_you_mean(name, key_names()))
                                                       : gone));
  }

  absl::StatusOr<Config> finish() {
    if (errors_.empty()) take_properties();
    if (errors_.empty()) name_log();
    if (errors_.empty()) cut_templates();
    if (errors_.empty()) read_order();
    if (errors_.empty()) check_together();
    if (!errors_.empty()) return invalid(absl::StrJoin(errors_, "\n"));
    for (const Key& key : all_keys()) {
      config_.settings.push_back(
          {key.info.name, key.info.secret ? "(hidden)" : key.get(config_.options), origin(key.info.name)});
    }
    return std::move(config_);
  }

 private:
  void set(const Key& key, const RawValue& value, const std::string& where) {
    std::string wrong = key.set(config_.options, value);
    if (!wrong.empty()) errors_.push_back(fmt::format("{}: {}: {}", where, key.info.name, wrong));
    origins_[key.info.name] = where;
  }

  std::string origin(const std::string& key) const {
    auto found = origins_.find(key);
    return found == origins_.end() ? "default" : found->second;
  }

  // Reports a mistake that involves several keys, with the origin of the first one that was set.
  void wrong_together(std::initializer_list<std::string> keys, const std::string& message) {
    for (const std::string& key : keys) {
      if (origin(key) == "default") continue;
      errors_.push_back(fmt::format("{}: {}: {}", origin(key), key, message));
      return;
    }
    errors_.push_back(message);
  }

  // Adds the origin of the key, with which the message of check_format() begins.
  void check_input(const FormatOptions& input) {
    absl::Status status = check_format(input);
    if (status.ok()) return;
    std::string message(status.message());
    std::string where = origin(message.substr(0, message.find(':')));
    errors_.push_back(where == "default" ? message : where + ": " + message);
  }

  void check_schemas() {
    const Options& o = config_.options;
    for (const std::string& url : o.schema_registry.url) {
      const size_t host = url.find("://");
      if (!url.starts_with("http://") && !url.starts_with("https://")) {
        wrong_together(
            {"schema_registry.url"},
            fmt::format("{} is not an address such as https://registry.example.org:8081", shown(url)));
      } else if (url.substr(host + 3, url.find('/', host + 3) - host - 3).find('@') != std::string::npos) {
        wrong_together({"schema_registry.url"},
                       "the user and the password belong in schema_registry.credentials_file");
      }
    }
    if (is_signed(o.input)) return;
    if (needs_registry(o.input) && o.schema_registry.url.empty())
      wrong_together(
          {"input.format"},
          fmt::format("{}: name the registry that has the schemas (schema_registry.url), or a file "
                      "with the schema of all records (input.schema_file)",
                      o.input.format));
    if (!o.input.schema_file.empty() && !o.schema_registry.url.empty())
      wrong_together({"input.schema_file"},
                     "not with schema_registry.url: the schema comes from one of them");
  }

  // Refuses outputs of whole documents if the input is signed records, which do not contain the documents.
  void check_signed() {
    const Options& o = config_.options;
    if (!is_signed(o.input)) return;
    for (const auto& [key, value] : {std::pair("files.unique", &o.files.unique),
                                     std::pair("output.unique_topic", &o.output.unique_topic)}) {
      if (value->empty()) continue;
      wrong_together({key},
                     fmt::format("{}: not with input.format: signed, which holds no documents; leave it "
                                 "out, and choose the unique ones from the source by the events",
                                 *value));
    }
  }

  // Reads the properties of librdkafka that doppel itself goes by.
  void take_properties() {
    for (const std::string& property : config_.options.kafka.properties) {
      const size_t equals = property.find('=');
      const TakenProperty* taken = taken_property(property.substr(0, equals));
      if (taken == nullptr) continue;
      const std::string text = property.substr(equals + 1);
      const std::optional<uint64_t> value = parse_integer(text);
      if (value && *value >= static_cast<uint64_t>(taken->least) &&
          *value <= static_cast<uint64_t>(taken->most)) {
        taken->take(config_.options, static_cast<int64_t>(*value));
      } else {
        wrong_together({"kafka.properties"}, fmt::format("{}: {} is not between {} and {}", taken->name,
                                                         shown(text), taken->least, taken->most));
      }
    }
  }

  // Derives the name of the log from the group if only the group is set, so that indexes of different groups
  // never share a log.
  void name_log() {
    if (origin("kafka.index_log") != "default" || config_.options.kafka.group == Options().kafka.group)
      return;
    config_.options.kafka.index_log = config_.options.kafka.group + "-index";
    origins_["kafka.index_log"] = "kafka.group";
  }

  // Cuts templates, too: they are what repeats most.
  void cut_templates() {
    if (config_.options.cut == CutTexts::shares && origin("common_after") == "default")
      config_.options.common_after = kCommonAfterOfCut;
  }

  // Makes matchers and resolvers read cluster.order, the topic that signers write.
  void read_order() {
    Options& o = config_.options;
    if (o.cluster.order.empty() || !o.cluster.is_part()) return;
    o.kafka.topics = {o.cluster.order};
    origins_["kafka.topics"] = "cluster.order";
    if (is_signed(o.input)) return;
    o.input.signed_format = o.input.format;
    o.input.format = kSignedFormat;
    origins_["input.format"] = origins_["input.signed_format"] = "cluster.order";
  }

  void check_signer() {
    const Options& o = config_.options;
    if (o.cluster.order.empty()) {
      wrong_together({"cluster.role", "cluster.order"},
                     "a signer writes a topic of signed records; name it in cluster.order");
    }
    if (is_signed(o.input)) {
      wrong_together({"input.format", "cluster.role"},
                     "a signer reads documents; set input.format to the format of the documents");
    }
    if (o.kafka.topics.empty())
      wrong_together({"cluster.role", "kafka.topics"}, "name the topics of the documents in kafka.topics");
    if (std::count(o.kafka.topics.begin(), o.kafka.topics.end(), o.cluster.order) != 0) {
      wrong_together(
          {"cluster.order"},
          fmt::format("{} is one of kafka.topics, which signers read; name another topic", o.cluster.order));
    }
  }

  void check_role() {
    const Options& o = config_.options;
    if (o.cluster.role == ClusterRole::all) return;
    if (o.kafka.brokers.empty())
      wrong_together({"cluster.role", "kafka.brokers"}, "roles need Kafka; set kafka.brokers");
    if (!o.cluster.answers_only() && !o.cluster.shards.empty())
      wrong_together({"cluster.shards"}, "only a matcher has shards");
    if (o.dry_run)
      wrong_together({"dry_run", "cluster.role"}, "a dry run needs the whole index; leave cluster.role out");
    if (o.cluster.signs()) return check_signer();
    if (!is_signed(o.input) || o.kafka.topics.size() != 1 || o.kafka.topics.front().starts_with('^')) {
      wrong_together({"cluster.role", "input.format", "kafka.topics"},
                     "matchers and resolvers read one topic of signed records; name it in cluster.order");
    }
    if (o.cluster.answers_only() && o.cluster.shards.empty()) {
      wrong_together({"cluster.role", "cluster.shards"}, "a matcher needs its shards, for instance 0-15/64");
    } else if (o.cluster.answers_only()) {
      const absl::Status status = parse_shards(o.cluster.shards).status();
      if (!status.ok()) wrong_together({"cluster.shards"}, std::string(status.message()));
    }
    if (o.cluster.ahead < o.kafka.batch_documents) {
      wrong_together(
          {"cluster.ahead", "kafka.batch_documents"},
          fmt::format("cluster.ahead is {}, less than a batch ({}): the resolver would wait for ever for "
                      "answers to the end of a batch",
                      o.cluster.ahead, o.kafka.batch_documents));
    }
  }

  void check_tables(int bands) {
    const absl::Status status = within_tables(bands, config_.options.shards);
    if (!status.ok()) wrong_together({"shards", "bands", "num_perm"}, std::string(status.message()));
  }

  void check_relations() {
    const Options& o = config_.options;
    const std::set<std::string> names(o.relations.begin(), o.relations.end());
    const std::vector<std::string> all = relation_names();
    for (const std::string& name : names) {
      if (std::find(all.begin(), all.end(), name) == all.end())
        wrong_together({"relations"}, fmt::format("\"{}\" is not one of {}", name, absl::StrJoin(all, ", ")));
    }
    if (!names.contains("near")) wrong_together({"relations"}, "doppel always looks for near; name it, too");
    if (o.cut != CutTexts::nothing) check_cut(names.contains("shares"));
    const bool similar = names.contains("similar");
    const absl::Status below = similar ? check_report_from(o.report_from, o.threshold) : absl::OkStatus();
    if (!below.ok()) wrong_together({"report_from", "threshold"}, std::string(below.message()));
    if (names.size() < (similar ? 3 : 2)) return;
    if (o.verify != Verify::exact)
      wrong_together({"relations", "verify"},
                     "contained, contains and shares need the sets of verify: exact");
    if (o.passage_words < o.shingle_words)
      wrong_together({"passage_words", "shingle_words"},
                     fmt::format("passage_words is {}, less than the {} words of a shingle", o.passage_words,
                                 o.shingle_words));
  }

  void check_cut(bool shares) {
    const Options& o = config_.options;
    if (!shares)
      wrong_together({"cut", "relations"}, "cut: shares needs relations: [near, shares], which finds them");
    if (!o.kafka.brokers.empty())
      wrong_together({"cut", "kafka.brokers"},
                     "cut: shares is for files (scan --keep, files.unique); topics get whole documents");
    const absl::Status texts = check_format_of_plain_texts(o.input);
    if (!texts.ok())
      wrong_together({"cut", "input.format"}, fmt::format("cut: shares: {}", std_sv(texts.message())));
  }

  void check_produces() {
    const Options& o = config_.options;
    if (!o.kafka.produce_from_http) return;
    const char* const key = "kafka.produce_from_http";
    if (o.kafka.brokers.empty())
      return wrong_together({key}, "without kafka.brokers, documents by HTTP are judged without a topic");
    if (o.kafka.topics.size() != 1 || o.kafka.topics.front().starts_with('^'))
      return wrong_together({key}, "kafka.topics must name one topic, to which the documents go");
    if (o.dry_run) return wrong_together({key}, "not with dry_run, which writes nothing");
    if (o.http.listen.empty()) return wrong_together({key}, "not without an HTTP server (http.listen)");
    if (is_signed(o.input))
      return wrong_together({key}, "not with input.format: signed; documents by HTTP are not signed");
  }

  void check_tls() {
    const Options::Http& http = config_.options.http;
    if (http.tls_certificate.empty() != http.tls_key.empty())
      wrong_together({"http.tls_certificate", "http.tls_key"}, "set both, or neither to serve without TLS");
    if (!http.tls_client_ca.empty() && http.tls_certificate.empty())
      wrong_together({"http.tls_client_ca"}, "only with http.tls_certificate and http.tls_key");
  }

  void check_together() {
    const Options& o = config_.options;
    check_tls();
    check_produces();
    check_input(o.input);
    check_signed();
    check_schemas();
    check_role();
    check_relations();
    if ((o.bands == 0) != (o.rows == 0)) {
      return wrong_together({"bands", "rows"},
                            fmt::format("bands is {} and rows is {}; set both, or neither to have them "
                                        "chosen",
                                        o.bands, o.rows));
    }
    if (o.bands * o.rows > o.num_perm) {
      return wrong_together({"bands", "rows", "num_perm"},
                            fmt::format("{} bands x {} rows need {} slots, num_perm is {}", o.bands, o.rows,
                                        o.bands * o.rows, o.num_perm));
    }
    if (o.bands == 0) {
      auto banding = choose_banding(o.threshold, o.recall, o.num_perm);
      if (banding.ok()) return check_tables(banding->bands);
      return wrong_together({"threshold", "recall", "num_perm"}, std::string(banding.status().message()));
    }
    check_tables(o.bands);
    double meets = meeting_probability(o.threshold, {o.bands, o.rows});
    if (origin("recall") != "default" && meets < o.recall) {
      wrong_together({"recall"},
                     fmt::format("{} x {} bands and rows reach {:.4f} at threshold {}; change them, or leave "
                                 "recall out",
                                 o.bands, o.rows, meets, o.threshold));
    }
  }

  Config config_;
  std::map<std::string, std::string> origins_;
  std::vector<std::string> errors_;
};

}  // namespace

absl::StatusOr<Config> load_config(const ConfigInputs& inputs) {
  Loader loader;
  if (!inputs.file.empty()) loader.file(inputs.file);
  for (const std::string& variable : inputs.environment) loader.environment(variable);
  for (const auto& [key, value] : inputs.sets) loader.command_line(key, value);
  return loader.finish();
}

std::vector<std::string> config_environment() {
  static const std::set<std::string> others{"DOPPEL_CONFIG", "DOPPEL_HASH_KEY", "DOPPEL_HTTP_TOKEN",
                                            "DOPPEL_KILL_AT", "DOPPEL_SIMD"};
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string variable = *entry;
    std::string name = variable.substr(0, variable.find('='));
    bool ours = name.rfind("DOPPEL_", 0) == 0;
    if (ours && !others.contains(name)) variables.push_back(std::move(variable));
  }
  std::sort(variables.begin(), variables.end());
  return variables;
}

}  // namespace doppel
