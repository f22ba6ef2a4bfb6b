#include "config/keys.h"

#include <algorithm>

#include "config/key_kinds.h"

namespace doppel {
namespace {

// In the order in which they are listed.
using Add = std::function<void(Key)>;

#define AT(member) [](Options& o) -> auto& { return o.member; }

// When a document is a copy, and how long originals are kept.
void rule_keys(const Add& add) {
  add(number_key("threshold", AT(threshold), 0, kMillion, "0.5 to 0.95",
                 "How similar a document must be to an earlier one to count as its copy: the share of word "
                 "sequences that both "
                 "have (Jaccard). 1 means equal but for case, punctuation and spacing."));
  add(number_key("recall", AT(recall), 0, kMillion, "0.95 to 0.999",
                 "The wished probability that a copy exactly at the threshold is found. Bands and rows are "
                 "chosen from it; more "
                 "recall means more bands, memory and time."));
  add(choice_key(
      "verify", AT(verify), {"exact", "signature"},
      "exact compares stored shingle sets; signature estimates from the sketch, needs no disk and errs near "
      "the threshold."));
  add(integer_key("bands", AT(bands), 0, 1024,
                  "Number of bands; 0 chooses bands and rows from threshold and recall."));
  add(integer_key("rows", AT(rows), 0, 1024, "Slices for each band; 0 chooses. Set together with bands."));
  add(integer_key(
      "max_listed", AT(max_listed), 1, 65535,
      "How many live originals with the same key one band lists. Bounds the work that boilerplate causes."));
  add(integer_key("max_checks", AT(max_checks), 1, 65535,
                  "How many candidates of one document are compared with it, the most promising first."));
  add(
      expire_after_key("Originals older than this (in record time, not by the clock) are forgotten; their "
                       "next copy is new again."));
  add(integer_key("max_documents", AT(max_documents), 0, kDocumentsMax,
                  "How many originals are kept: when there would be more, the oldest is forgotten; 0 keeps "
                  "all."));
  add(size_key(
      "max_memory", AT(max_memory), 0, uint64_t{1} << 50,
      "Memory for all of doppel, turned into a number of originals by what one takes and what buffers "
      "take; the smaller one of this and max_documents counts; 0 sets no limit."));
}

// What two signatures must have in common to be comparable: an index keeps these for life.
void signature_keys(const Add& add) {
  add(integer_key(
      "num_perm", AT(num_perm), 8, 1024,
      "Slots of a sketch. More find copies with fewer errors and cost memory and time for each document."));
  add(choice_key(
      "sketch", AT(sketch), {"fast", "classic"},
      "fast is Fast Similarity Sketching; classic is MinHash with num_perm hashes, slower, for comparison."));
  add(integer_key(
      "shingle_words", AT(shingle_words), 1, 64,
      "How many consecutive words are compared as one. Fewer find rewritten text, more ignore common "
      "phrases."));
  add(integer_key("min_shingles", AT(min_shingles), 1, 1'000'000,
                  "A text with fewer runs of shingle_words words is a copy only of an equal text."));
  add(choice_key("normaliser", AT(normaliser), {"default", "loose", "none"},
                 "What makes words equal: default ignores case and forms of characters; loose also accents, "
                 "and takes all "
                 "digits for one; none ignores nothing."));
  add(size_key(
      "max_record", AT(max_record), 1024, 15u << 20,
      "The largest stored set and metadata of one original; a larger one is compared by its sketch."));
  add(hash_key_file_key(
      "File with the secret key of all hashes (32 hex digits); DOPPEL_HASH_KEY in the environment overrides "
      "it. With neither, "
      "a random key is made once and kept in the state directory; runs without one use a public key."));
}

// Where in a record the document is.
void input_keys(const Add& add) {
  add(choice_key(
      "input.format", AT(input.format),
      {"auto", "json", "text", "html", "scrapy-cluster", "ache", "nutch", "news-please", "heritrix",
       "pages-jsonl", "warc"},
      "What a record is: json (an object), text or html (all of it), warc (one record), what a crawler "
      "writes, or auto: json for lines, text for whole files, WARC files by their names."));
  add(list_key(
      "input.id", AT(input.id_fields),
      "Fields that may hold a document's id, first found wins: a name, or a JSON pointer such as /meta/id."));
  add(list_key("input.text", AT(input.text_fields), "Fields that may hold the text to compare."));
  add(list_key("input.url", AT(input.url_fields), "Fields that may hold the URL."));
  add(list_key("input.date", AT(input.date_fields),
               "Fields that may hold the record time; expiry goes by it."));
  add(list_key("input.scope", AT(input.scope_fields),
               "Fields that make a scope together: documents of different scopes are never compared. None by "
               "default."));
  add(named_list_key(
      "input.tags", AT(input.tag_fields),
      "Fields kept with an original as tags, as field or name=field, or a group of name: field, so that a "
      "crawl can be forgotten."));
  add(named_list_key("input.passthrough", AT(input.passthrough_fields),
                     "Fields repeated in events, as field or name=field, or a group of name: field."));
  add(choice_key(
      "input.body_encoding", AT(input.body_encoding), {"format", "text", "base64", "auto"},
      "How the text field holds the text: as it is, in base64, or either; format: what the format says."));
  add(choice_key("input.extract", AT(input.extract), {"format", "none", "visible", "main"},
                 "What of an HTML page is compared: all bytes, what a reader sees, or of that the main text; "
                 "format: visible for HTML bodies, none for the rest. Changes signatures."));
  add(choice_key("input.id_from_key", AT(input.id_from_key), {"none", "raw", "urldecoded"},
                 "Whether Kafka's key is a document's id, as it is or URL-encoded."));
  add(list_key(
      "input.statuses", AT(input.statuses),
      "HTTP statuses of responses that are documents; any takes all. Others are skipped and counted."));
  add(list_key("input.content_types", AT(input.content_types),
               "Types of responses that are documents, such as text/*; any takes all."));
  add(size_key("input.max_bytes", AT(input.max_bytes), 1024, 1u << 30,
               "The largest body of a response; a larger one is rejected."));
}

// Records that lie elsewhere.
void fetch_keys(const Add& add) {
  add(list_key(
      "warc.roots", AT(warc_roots),
      "Where the WARC files lie that crawl logs (heritrix) point into: directories and http addresses."));
  add(list_key("warc.cdxj", AT(warc_cdxj),
               "Sorted CDXJ files, or directories of such, that say where a capture stands when a crawl log "
               "does not."));
  add(integer_key("fetch.parallel", AT(fetch_parallel), 1, 1024,
                  "Records of WARC files read at the same time."));
  add(duration_key("fetch.max_wait", AT(fetch_max_wait_ms), 0,
                   "How long a root that does not answer is waited for before a record is given up."));
  add(duration_key("fetch.timeout", AT(fetch_timeout_ms), 100,
                   "How long a web server may take to connect, or send nothing."));
}

void kafka_keys(const Add& add) {
  add(text_key("kafka.brokers", AT(kafka.brokers),
               "Kafka's addresses, host:port, separated by commas; empty: serve reads and writes files."));
  add(list_key(
      "kafka.topics", AT(kafka.topics),
      "Input topics; a name that begins with ^ is a regular expression. All of their partitions belong to "
      "one index."));
  add(text_key(
      "kafka.group", AT(kafka.group),
      "The consumer group whose offsets are kept up to date for lag tools; doppel itself goes by its index "
      "log."));
  add(text_key("kafka.index_log", AT(kafka.index_log),
               "The compacted topic with one partition that is the durable form of the index."));
  add(text_key(
      "kafka.transactional_id", AT(kafka.transactional_id),
      "Empty: follows from the index log. Two processes with the same one: the older is fenced and ends."));
  add(text_key("kafka.client_id", AT(kafka.client_id),
               "What the broker's logs and quotas call this process."));
  add(bool_key("kafka.create_topics", AT(kafka.create_topics),
               "Make topics that are missing; false: a start without them says which command makes them."));
  add(integer_key("kafka.partitions", AT(kafka.partitions), 1, 10'000,
                  "Partitions of output topics that are made. The index log always has one."));
  add(integer_key("kafka.replication", AT(kafka.replication), 0, 10,
                  "Replicas of topics that are made; 0: the broker's default."));
  add(choice_key("kafka.start", AT(kafka.start), {"earliest", "latest"},
                 "Where a new index begins to read its topics."));
  add(choice_key("kafka.on_data_loss", AT(kafka.on_data_loss), {"stop", "continue"},
                 "What to do when records were deleted from an input topic before they were read."));
  add(integer_key("kafka.batch_documents", AT(kafka.batch_documents), 1, 100'000,
                  "Documents in one transaction, at most. Never changes a verdict."));
  add(duration_key("kafka.batch_time", AT(kafka.batch_ms), 0,
                   "A transaction is closed so long after its first document."));
  add(size_key(
      "kafka.fetch_queue", AT(kafka.fetch_queue), 1 << 20, 2047u << 20,
      "Memory for records that were fetched ahead. Below a second of input it slows old libraries down."));
  add(duration_key("kafka.metadata_interval", AT(kafka.metadata_interval_ms), 100,
                   "How often new partitions and topics are looked for."));
  add(duration_key(
      "kafka.transaction_timeout", AT(kafka.transaction_timeout_ms), 1000,
      "The broker aborts a transaction that is open for so long. Keep it above the time in which a "
      "broker restarts."));
  add(duration_key("kafka.commit_deadline", AT(kafka.commit_deadline_ms), 1000,
                   "A commit without an answer for so long is looked up in the index log."));
  add(map_key("kafka.properties", AT(kafka.properties),
              "Any property of librdkafka (TLS, SASL, tuning); with consumer. or producer. before the name "
              "for one of "
              "them. Those that would break what doppel promises are refused."));
}

// Files in and out, topics out.
void output_keys(const Add& add) {
  add(list_key("files.paths", AT(files.paths),
               "What serve follows without Kafka: directories into which documents are dropped, JSONL files "
               "as they grow and are rotated, or - for stdin."));
  add(text_key("files.output", AT(files.output), "Where serve writes events without Kafka; - is stdout."));
  add(text_key("files.unique", AT(files.unique),
               "A file for the unique lines, unchanged, of serve without Kafka; empty: none."));
  add(text_key("files.rejects", AT(files.rejects),
               "A file for lines that could not be read, unchanged, of serve without Kafka; empty: none."));
  add(text_key("output.topic", AT(output.topic), "The topic of duplicate-of and original-removed events."));
  add(text_key("output.dead_letters", AT(output.dead_letters),
               "The topic of records that could not be read, unchanged; empty: they are only counted."));
  add(text_key("output.unique_topic", AT(output.unique_topic),
               "A topic for the unique documents, unchanged (key, headers, bytes); empty: none."));
  add(choice_key("output.verdicts", AT(output.verdicts), {"duplicates", "all"},
                 "Events for duplicates only, or a small one for every document too."));
}

// What comes again under an old name, and what may change about an index.
void update_keys(const Add& add) {
  add(choice_key(
      "tombstones", AT(tombstones), {"key", "ignore"},
      "What a null value does: forget the originals that stand under its topic and key, or nothing."));
  add(choice_key("on_update", AT(on_update), {"keep", "replace"},
                 "What a new text under an old key does: leave the old original, or forget it first."));
  add(list_key("accept_rule_change", AT(accept_rule_change),
               "Names of the rule (as a refused start shows them) that an existing index may change, such as "
               "threshold_ppm "
               "and min_equal. Bands and rows cannot: they shape what is stored."));
  add(bool_key("dry_run", AT(dry_run), "Judge, publish nothing, commit nothing."));
}

void work_keys(const Add& add) {
  add(integer_key("threads", AT(threads), 0, 1024,
                  "Threads that read, sign and compare; 0: one for each processor."));
  add(integer_key("shards", AT(shards), 1, 1024, "Parts of the index that are written in parallel."));
  add(integer_key("batch_documents", AT(batch_documents), 1, 1'000'000,
                  "Documents judged and committed together. Never changes a verdict."));
  add(size_key("batch_bytes", AT(batch_bytes), 1024, 1u << 30,
               "A batch is closed early when its documents reach this size."));
}

void state_keys(const Add& add) {
  add(text_key("state.directory", AT(state_directory),
               "Where the index is kept between runs; empty: nothing is kept after the run."));
  add(choice_key(
      "state.fsync", AT(fsync), {"none", "checkpoint", "commit"},
      "When data is forced to the disk. Every choice survives a killed process; commit survives power loss "
      "without judging anything again."));
  add(integer_key("state.checkpoint_documents", AT(checkpoint_documents), 1, 1'000'000'000'000,
                  "New originals between two checkpoints. Fewer make a start after a crash faster."));
  add(duration_key("state.checkpoint_interval", AT(checkpoint_interval_ms), 1000,
                   "And so much time at most, while documents come."));
  add(integer_key(
      "state.snapshots", AT(snapshots), 1, 100,
      "How many checkpoints are kept, so that damage in the newest files costs only what came since "
      "an older one."));
  add(text_key("temporary_directory", AT(temporary_directory),
               "Where runs without a state directory put their shingle sets; empty: TMPDIR or /tmp."));
}

void http_keys(const Add& add) {
  add(text_key("http.listen", AT(http.listen),
               "host:port (IPv4) of serve's HTTP server; port 0 takes any free one; empty: no server."));
  add(text_key("http.token_file", AT(http.token_file),
               "File with the bearer token that requests which change something must send; DOPPEL_HTTP_TOKEN "
               "in the environment overrides it; with neither, such requests are refused."));
  add(size_key("http.max_body", AT(http.max_body), 1024, 1u << 30, "The largest body of a request."));
}

void process_keys(const Add& add) {
  add(duration_key("stall_timeout", AT(stall_timeout_ms), 1000,
                   "How long the main loop may not turn before /live says that the daemon hangs."));
  add(duration_key("shutdown_timeout", AT(shutdown_timeout_ms), 100,
                   "How long serve may take to stop after SIGTERM before it ends itself; nothing is lost "
                   "either way."));
  add(choice_key("log.format", AT(log_format), {"text", "json"},
                 "The form of the daemon's log on stderr: a line for people, or a JSON object a line."));
  add(choice_key("log.level", AT(log_level), {"debug", "info", "warn", "error"},
                 "What the daemon's log leaves out. Read again on SIGHUP."));
}

#undef AT

std::vector<Key> make_keys() {
  std::vector<Key> keys;
  const Add add = [&](Key key) { keys.push_back(std::move(key)); };
  rule_keys(add);
  signature_keys(add);
  input_keys(add);
  fetch_keys(add);
  kafka_keys(add);
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
