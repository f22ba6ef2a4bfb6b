#include "config/keys.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_join.h"
#include "config/values.h"
#include "fmt/format.h"

namespace doppel {
namespace {

// Every kind of key wraps a member of Options, given by `at`, a function Options& -> T&. Getters see a const
// Options; they only read through it.
template <typename At>
const auto& read(const At& at, const Options& options) {
  return at(const_cast<Options&>(options));
}

// Keys of one text; `set_text` does the rest.
std::function<std::string(Options&, const RawValue&)> single(
    std::string type, std::function<std::string(Options&, const std::string&)> set_text) {
  return [type = std::move(type), set_text = std::move(set_text)](Options& options, const RawValue& value) {
    if (value.list) return fmt::format("expected one {}, found a list", type);
    return set_text(options, value.items.front());
  };
}

// Doubles that hold millionths exactly: there and back is the identity. usual: what a person would write,
// "0.5 to 0.95".
template <typename At>
Key number_key(std::string name, At at, int64_t least, int64_t most, const std::string& usual,
               std::string help) {
  Key key;
  key.info = {std::move(name),
              fmt::format("number, {} to {}", write_millionths(least), write_millionths(most)), "",
              std::move(help)};
  key.set = single("number", [=](Options& options, const std::string& text) -> std::string {
    auto millionths = parse_millionths(text);
    if (!millionths)
      return fmt::format("{} is not a number with at most six digits after the point", shown(text));
    if (*millionths < least || *millionths > most) {
      return fmt::format("{} is not between {} and {} ({} are usual)", shown(text), write_millionths(least),
                         write_millionths(most), usual);
    }
    at(options) = static_cast<double>(*millionths) / kMillion;
    return {};
  });
  key.get = [=](const Options& options) {
    return write_millionths(std::llround(read(at, options) * kMillion));
  };
  return key;
}

template <typename At>
Key integer_key(std::string name, At at, uint64_t least, uint64_t most, std::string help) {
  Key key;
  key.info = {std::move(name), fmt::format("integer, {} to {}", least, most), "", std::move(help)};
  key.set = single("integer", [=](Options& options, const std::string& text) -> std::string {
    auto value = parse_integer(text);
    if (!value) return fmt::format("{} is not an integer", shown(text));
    if (*value < least || *value > most)
      return fmt::format("{} is not between {} and {}", shown(text), least, most);
    at(options) = static_cast<std::remove_reference_t<decltype(at(options))>>(*value);
    return {};
  });
  key.get = [=](const Options& options) { return fmt::format("{}", read(at, options)); };
  return key;
}

template <typename At>
Key size_key(std::string name, At at, uint64_t least, uint64_t most, std::string help) {
  Key key;
  key.info = {std::move(name), fmt::format("size, {} to {}", write_size(least), write_size(most)), "",
              std::move(help)};
  key.set = single("size", [=](Options& options, const std::string& text) -> std::string {
    auto bytes = parse_size(text);
    if (!bytes) return fmt::format("{} is not a size (such as 1000, 64KiB, 8MiB, 1GB)", shown(text));
    if (*bytes < least || *bytes > most) {
      return fmt::format("{} is not between {} and {}", shown(text), write_size(least), write_size(most));
    }
    at(options) = *bytes;
    return {};
  });
  key.get = [=](const Options& options) { return write_size(read(at, options)); };
  return key;
}

template <typename At>
Key text_key(std::string name, At at, std::string help) {
  Key key;
  key.info = {std::move(name), "text", "", std::move(help)};
  key.set = single("text", [=](Options& options, const std::string& text) -> std::string {
    at(options) = text;
    return {};
  });
  key.get = [=](const Options& options) { return write_text(read(at, options)); };
  return key;
}

template <typename At>
Key choice_key(std::string name, At at, const std::vector<std::string>& choices, std::string help) {
  Key key;
  key.info = {std::move(name), fmt::format("one of {}", absl::StrJoin(choices, ", ")), "", std::move(help)};
  key.set = single("word", [=](Options& options, const std::string& text) -> std::string {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      return fmt::format("{} is not one of {}", shown(text), absl::StrJoin(choices, ", "));
    }
    at(options) = text;
    return {};
  });
  key.get = [=](const Options& options) { return read(at, options); };
  return key;
}

template <typename At>
Key list_key(std::string name, At at, std::string help) {
  Key key;
  key.info = {std::move(name), "list of text", "", std::move(help)};
  key.set = [=](Options& options, const RawValue& value) -> std::string {
    std::vector<std::string> items = value.list ? value.items : split_list(value.items.front());
    if (std::find(items.begin(), items.end(), "") != items.end()) return "an item of the list is empty";
    at(options) = std::move(items);
    return {};
  };
  key.get = [=](const Options& options) { return write_list(read(at, options)); };
  return key;
}

// A list in which "name=value" may also be written as a group.
template <typename At>
Key named_list_key(std::string name, At at, std::string help) {
  Key key = list_key(std::move(name), at, std::move(help));
  key.info.type = "list of text, or names and values";
  return key;
}

template <typename At>
Key bool_key(std::string name, At at, std::string help) {
  Key key;
  key.info = {std::move(name), "true or false", "", std::move(help)};
  key.set = single("true or false", [=](Options& options, const std::string& text) -> std::string {
    if (text != "true" && text != "false") return fmt::format("{} is neither true nor false", shown(text));
    at(options) = text == "true";
    return {};
  });
  key.get = [=](const Options& options) { return read(at, options) ? "true" : "false"; };
  return key;
}

template <typename At>
Key duration_key(std::string name, At at, int64_t least_ms, std::string help) {
  Key key;
  key.info = {std::move(name), "duration", "", std::move(help)};
  key.set = single("duration", [=](Options& options, const std::string& text) -> std::string {
    const auto ms = parse_duration(text);
    if (!ms) return fmt::format("{} is not a duration (such as 30d, 12h, 90s, 500ms)", shown(text));
    if (*ms < least_ms) return fmt::format("{} is shorter than {}", shown(text), write_duration(least_ms));
    at(options) = *ms;
    return {};
  });
  key.get = [=](const Options& options) { return write_duration(read(at, options)); };
  return key;
}

// A group of any names: "name=value" each.
template <typename At>
Key map_key(std::string name, At at, std::string help) {
  Key key;
  key.info = {std::move(name), "names and values", "", std::move(help)};
  key.set = [=](Options& options, const RawValue& value) -> std::string {
    std::vector<std::string> items = value.list ? value.items : split_list(value.items.front());
    for (const std::string& item : items) {
      const size_t equals = item.find('=');
      if (equals == std::string::npos || equals == 0)
        return fmt::format("{} is not of the form name=value", shown(item));
    }
    at(options) = std::move(items);
    return {};
  };
  key.get = [=](const Options& options) {
    std::vector<std::string> names;
    for (const std::string& item : read(at, options))
      names.push_back(item.substr(0, item.find('=')) + "=...");
    return write_list(names);
  };
  return key;
}

Key expire_after_key(std::string help) {
  Key key;
  key.info = {"expire_after", "duration or never", "", std::move(help)};
  key.set = single("duration", [](Options& options, const std::string& text) -> std::string {
    bool never = text.empty() || text == "never";
    auto ms = never ? 0 : parse_duration(text);
    if (!ms) return fmt::format("{} is not a duration (such as 30d, 12h, 90s, 500ms) or never", shown(text));
    if (*ms == 0 && !never) return "0 would expire every document at once; write never to keep all";
    options.expire_after = never ? "" : text;
    options.expire_after_ms = *ms;
    return {};
  });
  key.get = [](const Options& options) {
    return options.expire_after.empty() ? std::string("never") : write_text(options.expire_after);
  };
  return key;
}

// Whoever writes the key itself here would see it again in every listing of the settings.
Key hash_key_file_key(std::string help) {
  Key key = text_key("hash_key_file", [](Options& o) -> auto& { return o.hash_key_file; }, std::move(help));
  key.set = [set = key.set](Options& options, const RawValue& value) -> std::string {
    const std::string& text = value.items.empty() ? std::string() : value.items.front();
    if (text.size() == 32 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
      return "this looks like the key itself; give the path of a file that holds it, or set DOPPEL_HASH_KEY";
    }
    return set(options, value);
  };
  return key;
}

#define AT(member) [](Options& o) -> auto& { return o.member; }

std::vector<Key> make_keys() {
  std::vector<Key> keys;
  auto add = [&](Key key) { keys.push_back(std::move(key)); };

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

  add(integer_key("threads", AT(threads), 0, 1024,
                  "Threads that read, sign and compare; 0: one for each processor."));
  add(integer_key("shards", AT(shards), 1, 1024, "Parts of the index that are written in parallel."));
  add(integer_key("batch_documents", AT(batch_documents), 1, 1'000'000,
                  "Documents judged and committed together. Never changes a verdict."));
  add(size_key("batch_bytes", AT(batch_bytes), 1024, 1u << 30,
               "A batch is closed early when its documents reach this size."));

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

  add(text_key("http.listen", AT(http.listen),
               "host:port (IPv4) of serve's HTTP server; port 0 takes any free one; empty: no server."));
  add(text_key("http.token_file", AT(http.token_file),
               "File with the bearer token that requests which change something must send; DOPPEL_HTTP_TOKEN "
               "in the environment overrides it; with neither, such requests are refused."));
  add(size_key("http.max_body", AT(http.max_body), 1024, 1u << 30, "The largest body of a request."));

  add(duration_key("stall_timeout", AT(stall_timeout_ms), 1000,
                   "How long the main loop may not turn before /live says that the daemon hangs."));
  add(duration_key("shutdown_timeout", AT(shutdown_timeout_ms), 100,
                   "How long serve may take to stop after SIGTERM before it ends itself; nothing is lost "
                   "either way."));
  add(choice_key("log.format", AT(log_format), {"text", "json"},
                 "The form of the daemon's log on stderr: a line for people, or a JSON object a line."));
  add(choice_key("log.level", AT(log_level), {"debug", "info", "warn", "error"},
                 "What the daemon's log leaves out. Read again on SIGHUP."));

  Options defaults;
  for (Key& key : keys) key.info.default_value = key.get(defaults);
  return keys;
}

#undef AT

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
