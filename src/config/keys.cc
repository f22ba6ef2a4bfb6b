#include "config/keys.h"

#include <algorithm>

#include "config/key_kinds.h"
#include "formats/presets.h"

namespace doppel {
namespace {

// The functions below add the keys in the order in which they are listed.
using Add = std::function<void(Key)>;

#define AT(member) [](Options& o) -> auto& { return o.member; }

// Those of the table of an index's settings.
void group_keys(const Add& add, IndexSetting::Group group) {
  for (const IndexSetting& setting : index_settings())
    if (setting.group == group) add(index_key(setting));
}

void index_keys(const Add& add) {
  group_keys(add, IndexSetting::Group::rule);
  add(size_key(
      "memory", AT(memory), limits::kMemory.least, limits::kMemory.most,
      "The memory of the index. Half of it holds the newest originals. Older ones move to segments on "
      "disk and take about 17 bytes each of the other half. No verdict changes. 0: all originals stay "
      "in memory."));
  group_keys(add, IndexSetting::Group::relations);
  group_keys(add, IndexSetting::Group::signatures);
  add(
      hash_key_file_key("File with the secret key of all hashes (32 hex digits). DOPPEL_HASH_KEY in the "
                        "environment overrides it. With neither, doppel makes a random key once and keeps it "
                        "in the state directory; runs without a state directory use a public key."));
}

// How to find the document in a record.
void input_keys(const Add& add) {
  std::vector<std::string> formats = preset_names();
  formats.emplace_back(kSignedFormat);
  add(word_key(
      "input.format", AT(input.format), formats,
      "What a record is: json (an object), avro (with a schema), text or html (the whole record), warc (one "
      "record), the format of a crawler, signed (made by doppel sign), or auto: json for lines, a text or "
      "a page for whole files, WARC files by their content."));
  add(word_key("input.signed_format", AT(input.signed_format), preset_names(),
               "With input.format signed: the format that the records had before they were signed. scan and "
               "tune find it in the file."));
  add(list_key("input.id", AT(input.id_fields),
               "Fields that may hold the document's id: names, or JSON pointers such as /meta/id. The first "
               "one that is present counts."));
  add(list_key("input.text", AT(input.text_fields), "Fields that may hold the text to compare."));
  add(list_key("input.url", AT(input.url_fields), "Fields that may hold the URL."));
  add(list_key("input.date", AT(input.date_fields),
               "Fields that may hold the record time; expiry goes by it."));
  add(list_key("input.scope", AT(input.scope_fields),
               "Fields that together make the scope. Documents of different scopes are never compared. By "
               "default there is none."));
  add(named_list_key("input.tags", AT(input.tag_fields),
                     "Fields that are kept with an original as tags, so that a crawl can be forgotten: field "
                     "or name=field, or a group of name: field."));
  add(named_list_key("input.passthrough", AT(input.passthrough_fields),
                     "Fields that events repeat: field or name=field, or a group of name: field."));
  add(choice_key(
      "input.body_encoding", AT(input.body_encoding),
      {{"format", GivenEncoding::format},
       {"text", GivenEncoding::text},
       {"base64", GivenEncoding::base64},
       {"auto", GivenEncoding::automatic}},
      "How the text field is encoded: text, base64, or auto for either. format: as the format defines it."));
  add(choice_key(
      "input.extract", AT(input.extract),
      {{"format", ExtractPart::format},
       {"none", ExtractPart::none},
       {"visible", ExtractPart::visible},
       {"main", ExtractPart::main}},
      "The part of an HTML page that is compared: none (all bytes), visible (what a reader sees), or main "
      "(the main text). format: main for HTML bodies, none for everything else. Changes signatures."));
  add(choice_key("input.fallback_text", AT(input.fallback_text),
                 {{"unscored", FallbackText::unscored}, {"near", FallbackText::near}},
                 "How a page counts in which main finds only menus, footers and single lines: "
                 "unscored, or near (compared, but never an exact copy). Changes signatures."));
  add(list_key("input.statuses", AT(input.statuses),
               "HTTP statuses of responses that are documents; any accepts all. Other responses are skipped "
               "and counted."));
  add(list_key("input.content_types", AT(input.content_types),
               "Content types of responses that are documents, such as text/*; any accepts all. Of other "
               "types only payload digests are compared."));
  add(size_key("input.max_bytes", AT(input.max_bytes), 1024, 1u << 30,
               "The largest body of a response, or of a request by HTTP; a larger one is rejected."));
}

// The schemas of records in Avro.
void schema_keys(const Add& add) {
  add(choice_key("input.framing", AT(input.framing),
                 {{"registry", AvroFraming::registry}, {"none", AvroFraming::none}},
                 "What is before the data of a record in Avro: registry (a zero and the id of its schema in "
                 "four bytes, as Confluent's serializers write), or none."));
  add(text_key("input.schema_file", AT(input.schema_file),
               "File with the schema of all records in Avro. Empty: each record has the id of its schema in "
               "the registry."));
  add(list_key("schema_registry.url", AT(schema_registry.url),
               "Address of the schema registry, as serializers have it in schema.registry.url; several of "
               "one registry are tried in turn."));
  add(text_key("schema_registry.credentials_file", AT(schema_registry.credentials_file),
               "File with user:password for the schema registry. Empty: none. It is read for each request, "
               "so it may change."));
  add(text_key("schema_registry.ca_file", AT(schema_registry.ca_file),
               "File with the authorities (PEM) that may sign the registry's certificate. Empty: those of "
               "the system."));
}

// Records that are fetched from other files.
void fetch_keys(const Add& add) {
  add(list_key("warc.roots", AT(warc_roots),
               "Directories and HTTP addresses of the WARC files that crawl logs (heritrix) refer to."));
  add(list_key(
      "warc.cdxj", AT(warc_cdxj),
      "Sorted CDXJ or CDX files, or directories of them. They locate captures where a crawl log does not."));
  add(integer_key("fetch.parallel", AT(fetch_parallel), 1, 1024,
                  "Records of WARC files that are read at the same time."));
  add(duration_key("fetch.max_wait", AT(fetch_max_wait_ms), 0,
                   "How long doppel waits for a root that does not answer before it gives up on a record."));
}

void kafka_keys(const Add& add) {
  add(text_key("kafka.brokers", AT(kafka.brokers),
               "Kafka's addresses, host:port, separated by commas. Empty: serve reads and writes files."));
  add(list_key("kafka.topics", AT(kafka.topics),
               "Input topics. A name that begins with ^ is a regular expression. One index owns all of their "
               "partitions."));
  add(text_key("kafka.group", AT(kafka.group),
               "The consumer group whose offsets are updated for lag tools. doppel itself uses the progress "
               "in its index log."));
  add(text_key("kafka.index_log", AT(kafka.index_log),
               "The compacted topic with one partition that holds the index. If it is not set and "
               "kafka.group is, the name is that of the group and -index."));
  add(text_key(
      "kafka.transactional_id", AT(kafka.transactional_id),
      "Empty: follows from the index log. The daemons of one index share it, and one of them at a time "
      "writes."));
  add(choice_key(
      "kafka.takeover", AT(kafka.takeover), {{"standby", Takeover::standby}, {"now", Takeover::now}},
      "What a daemon does while another one serves the same index. standby: it follows the index log "
      "and takes over when the other one is gone for session.timeout.ms (kafka.properties). now: it takes "
      "over at once, and the other one ends with exit code 75."));
  add(bool_key(
      "kafka.create_topics", AT(kafka.create_topics),
      "Create topics that are missing. false: a start without them names the command that creates them."));
  add(bool_key("kafka.produce_from_http", AT(kafka.produce_from_http),
               "Take documents by HTTP, and write them to the input topic, which must be one. A request is "
               "answered with the verdicts of its documents. It needs the token (http.token_file)."));
  add(integer_key("kafka.partitions", AT(kafka.partitions), 1, 10'000,
                  "Partitions of output topics that doppel creates. The index log always has one."));
  add(choice_key("kafka.start", AT(kafka.start),
                 {{"earliest", StartAt::earliest}, {"latest", StartAt::latest}},
                 "Where a new index begins to read its topics."));
  add(choice_key("kafka.on_data_loss", AT(kafka.on_data_loss),
                 {{"stop", OnDataLoss::stop}, {"continue", OnDataLoss::go_on}},
                 "What doppel does when records were deleted from an input topic before it read them."));
  add(choice_key(
      "kafka.on_recreated", AT(kafka.on_recreated),
      {{"read", OnRecreated::read}, {"stop", OnRecreated::stop}},
      "What doppel does when an input topic was deleted and created again: it reads the new topic "
      "from its beginning, or stops. Caution: after a reload of the same documents each of them has a "
      "duplicate-of with its own id."));
  add(integer_key("kafka.batch_documents", AT(kafka.batch_documents), 1, 100'000,
                  "The most documents in one transaction. Never changes a verdict."));
  add(duration_key(
      "kafka.commit_deadline", AT(kafka.commit_deadline_ms), 1000,
      "If a commit has no answer for this long, doppel looks up in the index log whether it succeeded."));
  add(map_key("kafka.properties", AT(kafka.properties),
              "Properties of librdkafka (TLS, SASL, tuning). With consumer. or producer. before its name, a "
              "property applies to one of them. File, environment and command line are merged name by name; "
              "kafka.properties.NAME sets one. NAME: {file: PATH} reads a secret from a file. Properties "
              "that would break exactly-once are refused."));
}

#define TAKE(member, factor) \
  [](Options& o, int64_t value) { o.kafka.member = static_cast<decltype(o.kafka.member)>(value * (factor)); }

constexpr TakenProperty kTaken[] = {
    {"session.timeout.ms", "consumer.", 1'000, 3'600'000, TAKE(session_timeout_ms, 1)},
    {"transaction.timeout.ms", "producer.", 1'000, 2'147'483'647, TAKE(transaction_timeout_ms, 1)},
    {"linger.ms", "producer.", 0, 900'000, TAKE(batch_ms, 1)},
    {"queued.max.messages.kbytes", "consumer.", 1'024, 2'097'151, TAKE(fetch_queue, 1'024)},
    {"topic.metadata.refresh.interval.ms", "consumer.", 100, 3'600'000, TAKE(metadata_interval_ms, 1)},
};

#undef TAKE

// Settings of earlier versions, and what takes their place.
struct Retired {
  std::string_view name, instead;
};
constexpr Retired kRetired[] = {
    {"kafka.client_id", "set client.id under kafka.properties"},
    {"kafka.session_timeout", "set session.timeout.ms under kafka.properties"},
    {"kafka.transaction_timeout", "set transaction.timeout.ms under kafka.properties"},
    {"kafka.batch_time", "set linger.ms under kafka.properties"},
    {"kafka.fetch_queue", "set queued.max.messages.kbytes under kafka.properties"},
    {"kafka.metadata_interval", "set topic.metadata.refresh.interval.ms under kafka.properties"},
    {"kafka.replication",
     "topics that doppel creates have the brokers' default.replication.factor; create them yourself for "
     "another number"},
    {"cluster.answers", "the topic has the name of the index log with -answers"},
    {"input.id_from_key", "name $key in input.id; the format ache decodes its keys by itself"},
    {"http.max_body", "set input.max_bytes, the limit of all bodies"},
    {"schema_registry.timeout", "a request may take 10s, and then doppel asks again"},
    {"fetch.timeout",
     "a web server may be silent for 30s; fetch.max_wait says for how long doppel asks again"},
    {"state.snapshots", "doppel keeps two checkpoints"},
    {"stall_timeout", "the main loop is stalled when it has not turned for 5m"},
    {"temporary_directory", "set TMPDIR in the environment"},
};

// An index on many machines.
void cluster_keys(const Add& add) {
  add(choice_key(
      "cluster.role", AT(cluster.role),
      {{"all", ClusterRole::all},
       {"signer", ClusterRole::signer},
       {"matcher", ClusterRole::matcher},
       {"resolver", ClusterRole::resolver}},
      "What this process does for an index that is spread over many. signer: it signs documents and "
      "writes the signed records into cluster.order, as doppel sign does. matcher: it holds the "
      "originals of its shards and answers which documents resemble them. resolver: it decides by "
      "these answers, publishes events and writes the index log. all: one process does everything."));
  add(text_key("cluster.order", AT(cluster.order),
               "The topic of signed records between the roles: signers read kafka.topics and write it; "
               "matchers and resolvers read it in place of kafka.topics. So all roles can have the same "
               "configuration. Empty: matchers and resolvers read kafka.topics, with input.format: signed."));
  add(text_key(
      "cluster.shards", AT(cluster.shards),
      "The shards of a matcher, such as 0-15/64 (16 of 64). The matchers together must have each shard; "
      "those with the same shards are each other's standby."));
  add(integer_key("cluster.ahead", AT(cluster.ahead), 1, 10'000'000,
                  "How many documents matchers answer beyond the resolver's last commit. The resolver keeps "
                  "up to so many in memory."));
}

// Input and output files, and output topics.
void output_keys(const Add& add) {
  add(list_key("files.paths", AT(files.paths),
               "What serve follows without Kafka: directories that receive documents, JSONL files that grow "
               "and are rotated, or - for stdin."));
  add(text_key("files.output", AT(files.output), "Where serve writes events without Kafka. - is stdout."));
  add(text_key("files.unique", AT(files.unique),
               "A file for the unique lines, unchanged (serve without Kafka). Empty: none."));
  add(text_key("files.rejects", AT(files.rejects),
               "A file for lines that could not be read, unchanged (serve without Kafka). Empty: none."));
  add(text_key("output.topic", AT(output.topic), "The topic of duplicate-of and original-removed events."));
  add(text_key("output.dead_letters", AT(output.dead_letters),
               "The topic for records that could not be read, unchanged. Empty: they are only counted."));
  add(text_key("output.unique_topic", AT(output.unique_topic),
               "A topic for the unique documents, unchanged (key, headers, bytes). Empty: none."));
  add(choice_key(
      "output.verdicts", AT(output.verdicts), {{"duplicates", Verdicts::duplicates}, {"all", Verdicts::all}},
      "duplicates: events for duplicates only. all: also a small event for every other document."));
  add(text_key("output.best", AT(input.best),
               "What makes a copy better than what its cluster shows: longest, shortest, newest, oldest, "
               "FIELD:max or FIELD:min (a number or a time). serve writes a better-copy event for each such "
               "copy. Empty: none."));
  add(choice_key("output.key", AT(output.key),
                 {{"input", OutputKey::input},
                  {"cluster_id", OutputKey::cluster_id},
                  {"original_id", OutputKey::original_id}},
                 "The key of an event on Kafka: the key of the document's record, or the cluster_id or id of "
                 "the original. The last two put all events of a cluster into one partition."));
}

// Updates of documents, and changes to an existing index.
void update_keys(const Add& add) {
  add(choice_key(
      "tombstones", AT(tombstones), {{"key", Tombstones::key}, {"ignore", Tombstones::ignore}},
      "key: a null value removes the originals under its topic and key. ignore: it does nothing."));
  group_keys(add, IndexSetting::Group::updates);
  add(list_key(
      "accept_rule_change", AT(accept_rule_change),
      "Names of the rule that may change for an existing index on Kafka, such as threshold; a "
      "refused start shows them. Bands and rows cannot change, because the stored data depends on them."));
  add(bool_key("dry_run", AT(dry_run),
               "Judge documents, but publish, commit and create nothing. On Kafka the index is read from its "
               "log into a temporary directory. scan accepts it without outputs; other commands refuse it."));
}

void work_keys(const Add& add) {
  add(integer_key(limits::kThreads, AT(threads),
                  "Threads that read, sign and compare. 0: one for each processor."));
  add(integer_key(
      limits::kShards, AT(shards),
      "Parts of the index, which take 268 million originals each. A document is looked up in all of "
      "them, so use more than 1 only where one is not enough."));
  add(integer_key("batch_documents", AT(batch_documents), 1, 1'000'000,
                  "Documents that are judged and committed together. Never changes a verdict."));
  add(size_key("batch_bytes", AT(batch_bytes), 1024, 1u << 30,
               "A batch is closed early when its documents reach this size."));
}

void state_keys(const Add& add) {
  add(list_key(
      "against", AT(against),
      "State directories that are only read. Their originals come before all documents, so what is in "
      "one of them is a duplicate of it."));
  add(text_key("state.directory", AT(state_directory),
               "Where the index is kept between runs. Empty: nothing is kept after the run."));
  add(choice_key("state.fsync", AT(fsync),
                 {{"none", Fsync::none}, {"checkpoint", Fsync::checkpoint}, {"commit", Fsync::commit}},
                 "When data is forced to disk. Every choice survives a killed process; with commit no "
                 "document is judged again after a power loss."));
  add(integer_key("state.checkpoint_documents", AT(checkpoint_documents), 1, 1'000'000'000'000,
                  "New originals between two checkpoints. Fewer make a start after a crash faster."));
  add(duration_key("state.checkpoint_interval", AT(checkpoint_interval_ms), 1000,
                   "The longest time between two checkpoints while documents arrive."));
}

void http_keys(const Add& add) {
  add(text_key("http.listen", AT(http.listen),
               "host:port of serve's HTTP server, such as [::]:9464 for IPv6 and IPv4, or unix:/path. Port "
               "0: any free "
               "port. Empty: no server."));
  add(list_key(
      "http.hosts", AT(http.hosts),
      "Names with a dot by which clients may call the server, as in the header Host; \"*\" permits all. "
      "Addresses, localhost and names without a dot are always permitted."));
  add(text_key(
      "http.token_file", AT(http.token_file),
      "File with the bearer token for requests that change something. DOPPEL_HTTP_TOKEN in the "
      "environment overrides it. With neither, such requests are refused, but documents are inserted if "
      "HTTP is the only input."));
  add(text_key(
      "http.tls_certificate", AT(http.tls_certificate),
      "File (PEM) with the server's certificate, followed by those that lead to its authority. With it "
      "the server speaks HTTPS alone. SIGHUP reads it, the key and tls_client_ca again."));
  add(text_key("http.tls_key", AT(http.tls_key),
               "File (PEM) with the key of http.tls_certificate, without a password."));
  add(text_key(
      "http.tls_client_ca", AT(http.tls_client_ca),
      "File (PEM) with the authorities whose certificates clients must show. Empty: clients need none."));
}

void process_keys(const Add& add) {
  add(duration_key(
      "shutdown_timeout", AT(shutdown_timeout_ms), 100,
      "How long serve may take to stop after SIGTERM before it ends itself. Nothing is lost either way."));
  add(choice_key("log.format", AT(log_format), {{"text", log::Form::text}, {"json", log::Form::json}},
                 "The form of the log on stderr: text for people, or one JSON object per line."));
  add(choice_key("log.level", AT(log_level),
                 {{"debug", log::Level::debug},
                  {"info", log::Level::info},
                  {"warn", log::Level::warn},
                  {"error", log::Level::error}},
                 "The least important messages that are logged. SIGHUP makes the daemon read it again."));
}

#undef AT

std::vector<Key> make_keys() {
  std::vector<Key> keys;
  const Add add = [&](Key key) { keys.push_back(std::move(key)); };
  index_keys(add);
  input_keys(add);
  schema_keys(add);
  fetch_keys(add);
  kafka_keys(add);
  cluster_keys(add);
  output_keys(add);
  update_keys(add);
  work_keys(add);
  state_keys(add);
  http_keys(add);
  process_keys(add);

  const Options defaults;
  for (Key& key : keys) key.info.default_value = key.get(defaults);
  return keys;
}

}  // namespace

const std::vector<Key>& all_keys() {
  static const std::vector<Key> keys = make_keys();
  return keys;
}

const std::vector<KeyInfo>& config_keys() {
  static const std::vector<KeyInfo> infos = [] {
    std::vector<KeyInfo> all;
    for (const Key& key : all_keys()) all.push_back(key.info);
    return all;
  }();
  return infos;
}

const Key* find_key(std::string_view name) {
  for (const Key& key : all_keys()) {
    if (key.info.name == name) return &key;
  }
  return nullptr;
}

std::string retired(std::string_view name) {
  for (const Retired& gone : kRetired)
    if (gone.name == name) return fmt::format("{} is gone: {}", name, gone.instead);
  return {};
}

std::string retired_variable(std::string_view variable) {
  for (const Retired& gone : kRetired)
    if (environment_name(gone.name) == variable) return retired(gone.name);
  return {};
}

const TakenProperty* taken_property(std::string_view name) {
  for (const TakenProperty& taken : kTaken) {
    std::string_view plain = name;
    if (plain.starts_with(taken.prefix)) plain.remove_prefix(taken.prefix.size());
    if (plain == taken.name) return &taken;
  }
  return nullptr;
}

const Key* find_named(std::string_view name, std::string& rest) {
  for (const Key& key : all_keys()) {
    const std::string begin = key.info.name + ".";
    if (!key.named_values || !name.starts_with(begin) || name.size() == begin.size()) continue;
    rest = name.substr(begin.size());
    return &key;
  }
  return nullptr;
}

const Key* find_named_variable(std::string_view variable, std::string& rest) {
  for (const Key& key : all_keys()) {
    const std::string begin = environment_name(key.info.name) + "_";
    if (!key.named_values || !variable.starts_with(begin) || variable.size() == begin.size()) continue;
    rest.clear();
    for (const char c : variable.substr(begin.size()))
      rest += c == '_' ? '.' : (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    return &key;
  }
  return nullptr;
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const Key& key : all_keys()) names.push_back(key.info.name);
  return names;
}

std::vector<std::string> group_names() {
  std::vector<std::string> names;
  for (const Key& key : all_keys()) {
    size_t dot = key.info.name.find('.');
    if (dot == std::string::npos) continue;
    std::string group = key.info.name.substr(0, dot);
    if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(group);
  }
  return names;
}

std::string environment_name(std::string_view key) {
  std::string name = "DOPPEL_";
  for (char c : key) name += c == '.' ? '_' : (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

}  // namespace doppel
