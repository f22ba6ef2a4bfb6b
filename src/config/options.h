#pragma once
// Every setting of doppel with its type and default; engine/settings.h has those of an index. The key "a.b"
// of the configuration file is usually the member a.b; other names are in a comment.

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/settings.h"
#include "formats/decoder.h"
#include "state/state_dir.h"

namespace doppel {

// The values of settings with choices; keys.cc has their names.
enum class Takeover { standby, now };
enum class StartAt { earliest, latest };
enum class OnDataLoss { stop, go_on };
enum class OnRecreated { read, stop };
enum class ClusterRole { all, signer, matcher, resolver };
enum class Verdicts { duplicates, all };
enum class OutputKey { input, cluster_id, original_id };
enum class Tombstones { key, ignore };

inline constexpr int kCommonAfterOfCut = 500;  // common_after if texts are cut, unless it is set

struct Options : IndexSettings {
  std::string expire_after;   // as it was written, such as "30d"; empty: never
  uint64_t memory = 0;        // bytes of the index from which old originals move to segments; 0: never
  std::string hash_key_file;  // 32 hex digits; also DOPPEL_HASH_KEY

  FormatOptions input;  // input.*

  std::vector<std::string> warc_roots;  // warc.roots: directories and http addresses
  std::vector<std::string> warc_cdxj;   // warc.cdxj: files and directories
  int fetch_parallel = 16;              // fetch.parallel
  int64_t fetch_max_wait_ms = 600'000;  // fetch.max_wait

  struct SchemaRegistry {
    std::vector<std::string> url;
    std::string credentials_file, ca_file;
  } schema_registry;

  int threads = 0;  // 0: one per processor
  int shards = 1;
  int batch_documents = 256;
  uint64_t batch_bytes = 12 << 20;

  std::vector<std::string> against;           // state directories of other indexes, only read
  std::string state_directory;                // state.directory
  Fsync fsync = Fsync::checkpoint;            // state.fsync
  uint64_t checkpoint_documents = 1'000'000;  // state.checkpoint_documents
  int64_t checkpoint_interval_ms = 300'000;   // state.checkpoint_interval

  struct Kafka {
    std::string brokers;  // empty: serve reads files
    std::vector<std::string> topics;
    std::string group = "doppel";
    std::string index_log = "doppel-index";
    std::string transactional_id;  // empty: follows from the index log
    Takeover takeover = Takeover::standby;
    bool create_topics = false;
    bool produce_from_http = false;
    int partitions = 6;  // of topics that doppel creates
    StartAt start = StartAt::earliest;
    OnDataLoss on_data_loss = OnDataLoss::stop;
    OnRecreated on_recreated = OnRecreated::read;
    int batch_documents = 4000;
    int64_t commit_deadline_ms = 30'000;
    std::vector<std::string> properties;  // "name=value"

    // What these properties say, because doppel itself goes by them (taken_properties() in keys.h).
    int64_t session_timeout_ms = 10'000;      // session.timeout.ms
    int64_t transaction_timeout_ms = 60'000;  // transaction.timeout.ms
    int64_t batch_ms = 20;                    // linger.ms, of a transaction
    uint64_t fetch_queue = 256 << 20;         // queued.max.messages.kbytes, in bytes
    int64_t metadata_interval_ms = 10'000;    // topic.metadata.refresh.interval.ms
  } kafka;
  struct Cluster {
    ClusterRole role = ClusterRole::all;
    std::string order;   // topic of signed records: signers write it, the other roles read it
    std::string shards;  // of a matcher, such as "0-15/64"
    int ahead = 20'000;  // how many documents matchers answer beyond the last commit

    bool signs() const { return role == ClusterRole::signer; }
    bool decides() const { return role == ClusterRole::resolver; }
    bool answers_only() const { return role == ClusterRole::matcher; }
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
    Verdicts verdicts = Verdicts::duplicates;
    OutputKey key = OutputKey::input;
  } output;
  Tombstones tombstones = Tombstones::ignore;
  bool dry_run = false;
  std::vector<std::string> accept_rule_change;

  struct Http {
    std::string listen = "127.0.0.1:9464";  // empty: no server
    std::vector<std::string> hosts;         // names by which clients call it; "*": any
    std::string token_file;                 // also DOPPEL_HTTP_TOKEN
    std::string tls_certificate, tls_key;   // files; empty: no TLS
    std::string tls_client_ca;              // file; empty: clients need no certificate
  } http;

  int64_t shutdown_timeout_ms = 30'000;  // shutdown_timeout
  int64_t stall_timeout_ms = 300'000;    // no setting: tests shorten it

  log::Form log_format = log::Form::text;   // log.format
  log::Level log_level = log::Level::info;  // log.level
};

}  // namespace doppel
