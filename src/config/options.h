#pragma once
// Every setting of doppel with its type and default. The key "a.b" of the configuration file is usually the
// member a.b; other names are in a comment.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/decoder.h"

namespace doppel {

struct Options {
  // The rule that decides which documents are copies.
  double threshold = 0.8;
  double recall = 0.995;         // target probability that a pair at the threshold shares a band
  std::string verify = "exact";  // exact | signature
  int bands = 0;                 // 0: chosen from threshold and recall
  int rows = 0;
  int max_listed = 256;
  int max_checks = 64;
  std::string expire_after;     // a duration in record time ("30d", "12h"); empty: never
  int64_t expire_after_ms = 0;  // the same, parsed
  uint64_t max_documents = 0;   // how many of the newest originals are kept; 0: all
  uint64_t max_memory = 0;      // bytes, from which max_documents follows; 0: no limit
  uint64_t memory = 0;          // bytes of the index from which old originals move to segments; 0: never

  // Relations other than near: copies of a part.
  std::vector<std::string> relations = {"near"};  // near, contained, contains, shares
  double containment = 0.8;
  int passage_words = 154;
  int common_after = 20;
  int max_related = 16;
  std::string partial = "report";  // report | duplicate
  std::string cut = "nothing";     // nothing | shares

  // The data scheme, on which signatures depend.
  int num_perm = 128;
  std::string sketch = "fast";  // fast | classic
  int shingle_words = 5;
  int min_shingles = 1;                // a document with fewer is only a copy of an equal text
  std::string normaliser = "default";  // default | loose | none
  uint64_t max_record = 1'000'000;     // bytes of an original's body; larger sets are not stored
  std::string hash_key_file;           // 32 hex digits; also DOPPEL_HASH_KEY

  FormatOptions input;  // input.*

  std::vector<std::string> warc_roots;  // warc.roots: directories and http addresses
  std::vector<std::string> warc_cdxj;   // warc.cdxj: files and directories
  int fetch_parallel = 16;              // fetch.parallel
  int64_t fetch_max_wait_ms = 600'000;  // fetch.max_wait
  int64_t fetch_timeout_ms = 30'000;    // fetch.timeout

  struct SchemaRegistry {
    std::vector<std::string> url;
    std::string credentials_file, ca_file;
    int64_t timeout_ms = 10'000;
  } schema_registry;

  int threads = 0;  // 0: one per processor
  int shards = 1;
  int batch_documents = 256;
  uint64_t batch_bytes = 12 << 20;

  std::vector<std::string> against;           // state directories of other indexes, only read
  std::string state_directory;                // state.directory
  std::string fsync = "checkpoint";           // state.fsync: none | checkpoint | commit
  uint64_t checkpoint_documents = 1'000'000;  // state.checkpoint_documents
  int64_t checkpoint_interval_ms = 300'000;   // state.checkpoint_interval
  int snapshots = 2;                          // state.snapshots
  std::string temporary_directory;            // for runs without a state directory

  struct Kafka {
    std::string brokers;  // empty: serve reads files
    std::vector<std::string> topics;
    std::string group = "doppel";
    std::string index_log = "doppel-index";
    std::string transactional_id;      // empty: follows from the index log
    std::string takeover = "standby";  // standby | now
    int64_t session_timeout_ms = 10'000;
    std::string client_id = "doppel";
    bool create_topics = false;
    int partitions = 6;                 // of topics that doppel creates
    int replication = 0;                // 0: the broker's default
    std::string start = "earliest";     // earliest | latest
    std::string on_data_loss = "stop";  // stop | continue
    std::string on_recreated = "read";  // read | stop
    int batch_documents = 4000;
    int64_t batch_ms = 20;
    uint64_t fetch_queue = 256 << 20;
    int64_t metadata_interval_ms = 10'000;
    int64_t transaction_timeout_ms = 60'000;
    int64_t commit_deadline_ms = 30'000;
    std::vector<std::string> properties;  // "name=value"
  } kafka;
  struct Cluster {
    std::string role = "all";  // all | signer | matcher | resolver
    std::string order;         // topic of signed records: signers write it, the other roles read it
    std::string shards;        // of a matcher, such as "0-15/64"
    std::string answers;       // a topic; empty: follows from the index log
    int ahead = 20'000;        // how many documents matchers answer beyond the last commit

    bool signs() const { return role == "signer"; }
    bool decides() const { return role == "resolver"; }
    bool answers_only() const { return role == "matcher"; }
    bool is_part() const { return decides() || answers_only(); }  // has a part of an index on many machines
  } cluster;
  struct Files {
    std::vector<std::string> paths;
    std::string output = "-";
    std::string unique, rejects;  // empty: none
  } files;
  struct Output {
    std::string topic = "doppel-duplicates";
    std::string dead_letters = "doppel-dead-letters";
    std::string unique_topic;
    std::string verdicts = "duplicates";  // duplicates | all
    std::string key = "input";            // input | cluster_id | original_id
  } output;
  std::string tombstones = "ignore";  // key | ignore
  std::string on_update = "keep";     // keep | replace
  bool dry_run = false;
  std::vector<std::string> accept_rule_change;

  struct Http {
    std::string listen = "127.0.0.1:9464";  // empty: no server
    std::vector<std::string> hosts;         // names by which clients call it; "*": any
    std::string token_file;                 // also DOPPEL_HTTP_TOKEN
    uint64_t max_body = 16 << 20;           // bytes
  } http;

  int64_t shutdown_timeout_ms = 30'000;  // shutdown_timeout
  int64_t stall_timeout_ms = 300'000;    // stall_timeout

  std::string log_format = "text";  // log.format: text | json
  std::string log_level = "info";   // log.level: debug | info | warn | error
};

}  // namespace doppel
