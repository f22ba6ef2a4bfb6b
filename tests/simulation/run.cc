#include "simulation/run.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/kill_point.h"
#include "base/log.h"
#include "config/config.h"
#include "daemon/forget_requests.h"
#include "daemon/offset_requests.h"
#include "kafka/state_content.h"
#include "kafka/truth.h"
#include "roles/kafka.h"
#include "roles/rebuild.h"
#include "simulation/disk.h"
#include "state/state_dir.h"

namespace doppel::simulation {
namespace {

using std::chrono::milliseconds;
using testing::Message;
constexpr const char* kHashKey = "000102030405060708090a0b0c0d0e0f";
constexpr int kPartitions = 3;

// A process of doppel.
struct Life {
  int number = 0, task = -1;
  std::string directory;
  std::unique_ptr<LifeCluster> cluster;
  bool stop = false;
  std::optional<absl::Status> ended;
};

// The system closes the files of a killed process.
void close_files_below(const std::string& directory) {
  DIR* fds = ::opendir("/proc/self/fd");
  std::vector<int> close;
  std::array<char, 4096> target{};
  while (const dirent* entry = ::readdir(fds)) {
    const int fd = std::atoi(entry->d_name);
    const ssize_t n = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
    if (n > 0 && std::string_view(target.data(), static_cast<size_t>(n)).starts_with(directory + "/"))
      close.push_back(fd);
  }
  ::closedir(fds);
  for (const int fd : close) ::close(fd);
}

class Run {
 public:
  Run(const RunPlan& plan, std::string folder, bool trace)
      : plan_(plan), folder_(std::move(folder)), world_(plan.seed) {
    world_.tracing = trace;
    world_.forgets_aborts = plan.forgets_aborts;
    world_.input = "in";
    world_.events = "events";
    world_.index_log = "index";
    Clock::install(&world_.scheduler);
    world_.broker.topics["in"].partitions.resize(kPartitions);
    on_kill_points([this](std::string_view) {
      for (const auto& life : lives_)
        if (life->task == world_.scheduler.current()) return life->cluster->at_kill_point();
    });
    world_.recreate_topic = [this](uint32_t bits) { recreate_topic(bits); };
    make_documents();
  }

  RunResult run() {
    Life* running = nullptr;
    for (int n = 0; n < plan_.lives && !world_.exhausted; ++n) {
      Life& life = start(n, running);
      const bool beside = running != nullptr;
      const int64_t patience = beside ? 20'000 : 60'000;
      const Clock::time_point start = world_.scheduler.now();
      const bool to_the_end = chance(0.4);
      while (!over(life) && world_.scheduler.now() - start < milliseconds(patience)) {
        produce(below(4));
        if (chance(0.04)) forget_one(life);
        if (moves_offsets() && chance(0.03)) move_offset(life);
        world_.scheduler.sleep(milliseconds(20 + below(200)));
        if (caught_up() && (!to_the_end || chance(0.3))) break;
      }
      if (running != nullptr && !over(*running) && chance(0.5)) kill(*running);
      if (running != nullptr && over(*running)) running = nullptr;
      check_so_far(n);
      if (over(life)) continue;
      if (running == nullptr && chance(0.5)) {
        running = &life;  // the next life takes over from it
      } else if (chance(0.5)) {
        stop(life);
        if (moves_cluster() && chance(0.5)) move_cluster(life);
      } else {
        kill(life);
      }
    }
    finish(running);
    result_.lost = world_.broker.did.lost != 0;
    if (result_.lost) result_.findings.clear();
    RunResult out = std::move(result_);
    out.commits = world_.broker.did.commits;
    out.forgotten = world_.broker.did.forgotten;
    for (const auto& life : lives_) out.calls += static_cast<uint64_t>(life->cluster->calls());
    return out;
  }

 private:
  uint64_t below(uint64_t n) { return world_.scheduler.below(n); }
  bool chance(double share) { return world_.scheduler.chance(share); }
  void finding(const std::string& text) { result_.findings.push_back(text); }

  // ---- documents

  // Few words, so that judging is fast; copies and near-copies of earlier documents, null values, poison.
  void make_documents() {
    Random random(plan_.seed * 7919 + 17);
    const size_t count = 30 + random() % 60;
    std::vector<std::string> texts;
    for (size_t n = 0; n < count; ++n) {
      Message m;
      m.key = fmt::format("k{}", random() % (n + 5));
      const uint64_t kind = random() % 20;
      if (kind == 0) {
        m.value.reset();
      } else if (kind == 1) {
        m.value = "{ this is not JSON";
      } else if (relates()) {
        texts.push_back(related_text(random, texts));
        m.value = record(n, texts.back());
      } else if (kind < 10 && !texts.empty()) {
        std::string text = texts[random() % texts.size()];
        if (random() % 2 == 0) text += " and";
        m.value = record(n, text);
      } else {
        std::string text;
        for (int w = 0; w < 14; ++w) text += fmt::format("{}w{}", w == 0 ? "" : " ", random() % 1000);
        texts.push_back(text);
        m.value = record(n, text);
      }
      if (random() % 40 == 0) m.key = std::string(120'000, 'x');   // more than an output accepts
      if (random() % 15 == 0) m.key = fmt::format("k{:0800}", n);  // more than it may accept later
      if (kind <= 1 && n % 4 == 0) {                               // no byte at all
        m.key.reset();
        if (m.value) m.value = "";
      }
      m.partition = static_cast<int32_t>(random() % kPartitions);
      m.timestamp_ms = 1'600'000'000'000 + static_cast<int64_t>(n) * 60'000;
      documents_.push_back(std::move(m));
    }
  }

  // Some have no score.
  static std::string record(size_t n, const std::string& text) {
    const std::string score = n % 5 == 0 ? "null" : std::to_string(n * 37 % 23);
    return fmt::format(R"({{"id":"d{}","score":{},"text":"{}"}})", n, score, text);
  }

  // Whether the run looks for copies of a part.
  static bool relates(uint64_t seed) { return seed % 13 < 5; }
  bool relates() const { return relates(plan_.seed); }

  // Returns a new text, a copy, a part of an earlier text, one within other words, or two of them; some have
  // the same bar of words before or after.
  static std::string related_text(Random& random, const std::vector<std::string>& texts) {
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    std::vector<std::string> words;
    const auto fresh = [&](size_t count) {
      for (; count > 0; --count) words.push_back(fmt::format("w{}", below(1000)));
    };
    const auto old = [&](bool part) {
      const std::vector<std::string> all = absl::StrSplit(texts[below(texts.size())], ' ');
      const size_t begin = part ? below(all.size() / 2 + 1) : 0;
      const size_t count = part ? below(all.size() - begin + 1) : all.size();
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin);
      words.insert(words.end(), from, from + static_cast<std::ptrdiff_t>(count));
    };
    const size_t kind = texts.empty() ? 0 : below(8);
    if (kind == 2 || kind == 3) fresh(1 + below(30));
    if (kind != 0) old(kind != 1 && kind != 3);
    if (kind == 4) old(false);
    if (kind == 0 || kind == 2 || kind == 5) fresh(kind == 0 ? 14 + below(60) : 1 + below(30));
    const std::string text =
        absl::StrJoin(words.begin(), words.begin() + std::min<std::ptrdiff_t>(std::ssize(words), 200), " ");
    constexpr std::string_view kBar =
        "home news sport weather travel about us contact privacy terms imprint help";
    return below(4) != 0   ? text
           : below(2) == 0 ? fmt::format("{} {}", kBar, text)
                           : fmt::format("{} {}", text, kBar);
  }

  void produce(uint64_t count) {
    for (; count > 0 && produced_ < documents_.size(); --count) append(documents_[produced_++], 0);
  }
  void append(const Message& m, int64_t later_ms) {
    world_.broker.append(
        {"in", m.partition},
        {.timestamp_ms = m.timestamp_ms + later_ms, .key = m.key, .value = m.value, .headers = m.headers});
  }

  // Creates another topic of the same name, with none, some or all of the documents so far, with other times:
  // it ends below, at or beyond the offset that was read. Does so only once doppel has read the previous one,
  // because it cannot know of a topic that came and went unseen.
  void recreate_topic(uint32_t bits) {
    bool read = false;
    each_in_log([&](const LogRecord& record) {
      const auto* p = std::get_if<LogProgress>(&record);
      read = read || (p != nullptr && p->incarnation == old_.size() + 1 && p->next > 0);
    });
    if (!read || produced_ == 0) return;
    refill(bits % 3 == 0 ? bits / 3 % (produced_ + 1) : bits % 3 == 1 ? produced_ : 0);
  }
  void refill(size_t count) {
    std::vector<Partition>& partitions = world_.broker.topics.at("in").partitions;
    old_.push_back(std::exchange(partitions, std::vector<Partition>(kPartitions)));
    for (size_t i = 0; i < count; ++i) append(documents_[i], static_cast<int64_t>(old_.size()) * 3'600'001);
  }

  // Like `doppel forget`. The document may be an original, a copy, or not judged yet.
  void forget_one(const Life& life) {
    if (produced_ == 0 || !std::filesystem::exists(life.directory + "/journal")) return;
    const absl::StatusOr<std::string> left =
        leave_request(life.directory, fmt::format("any_id=d{}", below(produced_)));
    if (left.ok()) ++result_.requests;
  }

  // Like `doppel offsets`: mostly back.
  void move_offset(const Life& life) {
    const auto partition = static_cast<int32_t>(below(kPartitions));
    const int64_t end = world_.broker.topics.at("in").partitions[partition].end;
    const std::string where = chance(0.2) ? "end" : fmt::format("{}", below(static_cast<uint64_t>(end) + 1));
    if (!std::filesystem::exists(life.directory + "/journal")) return;
    if (leave_offsets_request(life.directory, fmt::format("set in/{}={}", partition, where)).ok())
      moved_ = true;
  }
  bool moves_offsets() const { return plan_.seed % 8 == 6; }

  // Moves the index of an ended life to another cluster, by its state directory. The input was mirrored
  // there, to the same offsets or to others.
  void move_cluster(const Life& life) {
    if (!life.ended || !life.ended->ok() || !claimed_by(life) || world_.broker.did.lost != 0) return;
    for (const auto& other : lives_)
      if (!over(*other)) return;  // it would use the new cluster with its knowledge of the old one
    for (const auto& [name, topic] : world_.broker.topics) {
      for (const Partition& p : topic.partitions)
        if (p.stable_end() != p.end) return;  // events that stay invisible until the next start
    }
    for (const char* topic : {"events", "dead", "unique", "index"}) before_[topic] = read(topic);
    Broker next;
    next.did = world_.broker.did;
    next.topics["in"] = std::move(world_.broker.topics["in"]);
    world_.broker = std::move(next);
    world_.cluster += "-next";
    answer_again();
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path() != life.directory) std::filesystem::remove_all(entry.path());

    std::string offsets = "keep";
    if (chance(0.5)) {
      refill(below(produced_ + 1));
      same_as_before_.insert(fmt::format("in@{}", old_.size() + 1));
      offsets = folder_ + "/offsets";
      std::ofstream file(offsets);
      for (int p = 0; p < kPartitions; ++p) file << fmt::format("in/{}=beginning\n", p);
    }
    const Config config{.options = options_of(life.directory), .settings = {}};
    LifeCluster cluster(world_, -1, {});
    const absl::Status status =
        rebuild(config, cluster, {.from = RebuildOptions::From::state, .offsets = offsets});
    if (!status.ok()) return finding("the index does not move: " + status.ToString());
    copied_ = world_.broker.topics.at("index").partitions[0].end;
  }
  bool moves_cluster() const { return plan_.seed % 8 == 2; }

  // Compaction may then leave only the removals of the last originals.
  void forget_newest(Life& life) {
    for (size_t n = 1; n <= 4; ++n)
      (void)leave_request(life.directory, fmt::format("any_id=d{}", documents_.size() - n));
    for (int i = 0; i < 20 && !over(life); ++i) world_.scheduler.sleep(milliseconds(500));
  }

  // ---- lives

  static std::string name_of(const Life& life) { return fmt::format("life-{}", life.number); }

  Options options_of(const std::string& directory) const {
    Options out = options_;
    out.state_directory = directory;
    return out;
  }

  Options make_options() const {
    const auto config =
        load_config({.file = "",
                     .sets = {{"kafka.brokers", "simulated"},
                              {"kafka.topics", plan_.seed % 3 == 0 ? "^(in|ev|dead|ind).*" : "in"},
                              {"kafka.index_log", "index"},
                              {"kafka.create_topics", "true"},
                              {"kafka.partitions", "2"},
                              {"kafka.batch_documents", "5"},
                              {"kafka.commit_deadline", "2s"},
                              {"kafka.transaction_timeout", "10s"},
                              {"kafka.metadata_interval", "2s"},
                              {"kafka.takeover", plan_.seed % 11 < 4 ? "standby" : "now"},
                              {"output.topic", "events"},
                              {"output.dead_letters", "dead"},
                              {"output.unique_topic", plan_.seed % 2 == 0 ? "unique" : ""},
                              {"output.best", best_of(plan_.seed)},
                              {"tombstones", "key"},
                              {"on_update", plan_.seed % 5 == 0 ? "replace" : "keep"},
                              {"max_documents", plan_.seed % 7 == 0 ? "20" : "0"},
                              {"memory", memory_of(plan_.seed)},
                              {"relations", relates() ? "near,contained,contains,shares" : "near"},
                              {"partial", plan_.seed % 3 == 1 ? "duplicate" : "report"},
                              {"passage_words", "12"},
                              {"common_after", "4"},
                              {"max_related", "3"},
                              {"state.fsync", fsync_of(plan_.seed)},
                              {"state.checkpoint_documents", "15"},
                              {"http.listen", ""},
                              {"threads", "1"}},
                     .environment = {}});
    if (!config.ok()) {
      fmt::print(stderr, "simulation: {}\n", std::string(config.status().message()));
      std::abort();
    }
    return config->options;
  }

  // Mostly, ten originals are in memory, or two, of which a batch makes more than one segment.
  static const char* memory_of(uint64_t seed) {
    return seed % 17 >= 12 ? "0" : seed % 17 < 6 ? "5000" : "1200";
  }

  static const char* best_of(uint64_t seed) {
    return seed % 9 < 3 ? "" : seed % 9 < 6 ? "longest" : seed % 9 == 6 ? "score:min" : "score:max";
  }

  static const char* fsync_of(uint64_t seed) {
    return seed % 4 == 0 ? "none" : seed % 4 == 1 ? "commit" : "checkpoint";
  }

  Life& start(int number, const Life* beside, bool last = false) {
    std::vector<Event> events;
    for (const Event& e : plan_.events)
      if (e.life == number) events.push_back(e);
    Life& life = *lives_.emplace_back(std::make_unique<Life>());
    life.number = number;
    do {
      life.directory = fmt::format("{}/{}", folder_,
                                   last || chance(0.6) ? "a"
                                   : chance(0.5)       ? "b"
                                                       : fmt::format("new{}", number));
    } while (beside != nullptr && life.directory == beside->directory);
    life.cluster = std::make_unique<LifeCluster>(world_, number, std::move(events));
    ++result_.lives;
    life.task = world_.scheduler.spawn([this, &life] {
      Config config{.options = options_of(life.directory), .settings = {}};
      life.ended = serve_kafka(config, *life.cluster,
                               {.stop = [&life] { return life.stop; },
                                .ending = [](const absl::Status&) {},
                                .step_by_step = true,
                                .owner = name_of(life)});
    });
    life.cluster->task = life.task;
    return life;
  }

  // Whether the life has ended or was killed; checks its result once.
  bool over(Life& life) {
    if (!world_.scheduler.ended(life.task)) return false;
    if (std::find(seen_.begin(), seen_.end(), life.number) != seen_.end()) return true;
    seen_.push_back(life.number);
    if (!life.ended) {
      ++result_.killed;
      close_files_below(life.directory);
      // Without syncs the directory may have any state then; nothing is promised.
      if (options_.fsync != "none" && chance(0.3)) lose_power(life.directory, world_.scheduler);
      return true;
    }
    const absl::Status& status = *life.ended;
    if (absl::IsAborted(status)) ++result_.replaced;
    const bool usual = status.ok() || absl::IsAborted(status) || absl::IsCancelled(status);
    // docs/adr/0017 names this: only a person can continue then.
    if (absl::IsFailedPrecondition(status) &&
        status.message().find("must be sent again") != std::string::npos)
      ++world_.broker.did.lost;
    if (!usual) finding(fmt::format("life {} ended with: {}", life.number, status.ToString()));
    return true;
  }

  void kill(Life& life) {
    if (over(life)) return;
    world_.scheduler.kill(life.task);
    over(life);
  }

  void stop(Life& life) {
    life.stop = true;
    for (int i = 0; i < 3'000 && !over(life); ++i) world_.scheduler.sleep(milliseconds(100));
    if (!over(life)) {
      finding(fmt::format("life {} does not stop", life.number));
      kill(life);
    }
  }

  // ---- what is published

  // "in@2" is the second topic of this name.
  std::vector<Message> read(const std::string& topic) const {
    std::vector<Message> out;
    if (const auto before = before_.find(topic); before != before_.end()) out = before->second;
    const auto found = world_.broker.topics.find(topic.substr(0, topic.find('@')));
    if (found == world_.broker.topics.end()) return out;
    const size_t n =
        topic.find('@') == std::string::npos ? 0 : std::stoul(topic.substr(topic.find('@') + 1)) - 1;
    const bool old = topic.starts_with("in") && topic != "index" && n < old_.size();
    const std::vector<Partition>& partitions = old ? old_[n] : found->second.partitions;
    for (size_t p = 0; p < partitions.size(); ++p) {
      const Partition& partition = partitions[p];
      const int64_t end = partition.stable_end();
      for (const StoredRecord& r : partition.records) {
        if (r.offset >= end || r.state != StoredRecord::State::committed) continue;
        if (topic == "index" && r.offset < copied_) continue;
        Message& m = out.emplace_back();
        m.key = r.key;
        m.value = r.value;
        m.headers = r.headers;
        m.partition = static_cast<int32_t>(p);
        m.offset = r.offset;
        m.timestamp_ms = r.timestamp_ms;
        m.topic = topic;
      }
    }
    return out;
  }

  // After every life: readers see nothing doubled, and no number has two originals.
  void check_so_far(int life) {
    std::set<std::string> said;
    for (const Message& m : read("events")) {
      for (const auto& [name, value] : m.headers) {
        if (name == "ce_id" && value && !said.insert(*value).second && !moved_)
          finding(fmt::format("after life {}: doubled: {}", life, *value));
      }
    }
    std::map<std::string, std::string> rows;
    for (const Message& m : read("index")) {
      if (!m.key || m.key->size() != sizeof(Seq) || !m.value || !m.value->starts_with('R')) continue;
      const auto [first, fresh] = rows.emplace(*m.key, *m.value);
      if (!fresh && first->second != *m.value)
        finding(fmt::format("after life {}: log offset {}: a number is written again", life, m.offset));
    }
  }

  // Visits the records of the index log that readers see, except originals.
  void each_in_log(const std::function<void(const LogRecord&)>& visit) const {
    const auto log = world_.broker.topics.find("index");
    if (log == world_.broker.topics.end()) return;
    const Partition& partition = log->second.partitions[0];
    const int64_t end = partition.stable_end();
    for (const StoredRecord& r : partition.records) {
      if (r.offset >= end || r.state != StoredRecord::State::committed || !r.key ||
          r.key->size() == sizeof(Seq))
        continue;
      const auto record = parse_log_record(*r.key, r.value ? std::string_view(*r.value) : std::string_view(),
                                           r.value.has_value());
      if (record.ok()) visit(*record);
    }
  }

  bool claimed_by(const Life& life) const {
    std::string owner;
    each_in_log([&](const LogRecord& record) {
      if (const auto* o = std::get_if<LogOwner>(&record)) owner = o->owner;
    });
    // "/" comes before the name of an owner that has released the log.
    return owner == name_of(life) || owner == "/" + name_of(life) || owner.starts_with(name_of(life) + "/");
  }

  // Whether all documents are judged; with `owner`, also by a log that this life has claimed last.
  bool caught_up(const Life* owner = nullptr) const {
    std::map<int32_t, int64_t> progress;
    LogExpire expire;
    if (!world_.broker.topics.contains("index")) return false;
    each_in_log([&](const LogRecord& record) {
      const auto* p = std::get_if<LogProgress>(&record);
      if (p != nullptr && p->incarnation == old_.size() + 1) progress[p->partition] = p->next;
      if (const auto* e = std::get_if<LogExpire>(&record)) expire = *e;
    });
    if (owner != nullptr && !claimed_by(*owner)) return false;
    const auto& input = world_.broker.topics.at("in").partitions;
    for (int p = 0; p < kPartitions; ++p)
      if (progress[p] < input[p].end) return false;
    return expire.announced >= expire.lowest_live;
  }

  void answer_again() {
    world_.away_until = world_.hidden_until = {};
    world_.broker.topics["in"].hidden = false;
  }

  // One more life without faults judges the rest. Then everything is compared.
  void finish(Life* running) {
    produce(documents_.size());
    answer_again();
    if (running != nullptr) kill(*running);
    for (int attempt = 0;; ++attempt) {
      Life& life = start(plan_.lives + attempt, nullptr, true);
      for (int i = 0; i < 3'000 && !over(life) && !caught_up(&life); ++i)
        world_.scheduler.sleep(milliseconds(200));
      if (caught_up(&life)) {
        if (over(life)) break;
        // Forgotten markers are repaired in pauses of the stream.
        for (int i = 0; i < 20 && !over(life); ++i) world_.scheduler.sleep(milliseconds(500));
        if (compacted()) forget_newest(life);
        stop(life);
        if (compacted()) world_.broker.compact("index");
        break;
      }
      if (over(life) && attempt < 3 && result_.findings.empty()) continue;
      finding(world_.exhausted ? "it goes round in circles: calls or records without end"
                               : "the last life does not judge all documents");
      return;
    }
    result_.documents = static_cast<int>(documents_.size());
    if (!result_.findings.empty() || world_.broker.did.lost != 0) return;
    verify();
  }

  void verify() {
    const Options options = options_of(folder_ + "/a");
    const HashKey key = *parse_hash_key(kHashKey);
    if (!compacted()) {
      std::vector<std::string> inputs{"in"};
      for (size_t n = 0; n < old_.size(); ++n) inputs.push_back(fmt::format("in@{}", n + 2));
      const testing::Verification verification = testing::verify_topics(
          [this](const std::string& topic) { return read(topic); }, options, key, inputs, same_as_before_);
      for (const std::string& f : verification.findings) finding(f);
      result_.related = static_cast<int>(verification.related);
    }
    if (!result_.findings.empty()) return;
    // A restore from the log alone must give the same index.
    const Options rebuilt = options_of(folder_ + "/rebuilt");
    Config config{.options = rebuilt, .settings = {}};
    LifeCluster cluster(world_, -1, {});
    const absl::Status status = rebuild(config, cluster, {.from = RebuildOptions::From::log});
    if (!status.ok()) return finding("rebuild: " + status.ToString());
    const std::string differs =
        testing::difference(testing::read_state(options, key), testing::read_state(rebuilt, key));
    if (!differs.empty()) finding(differs);
  }

  bool compacted() const {
    return std::any_of(plan_.events.begin(), plan_.events.end(),
                       [](const Event& e) { return e.fault == Fault::compact; });
  }

  const RunPlan& plan_;
  const Options options_ = make_options();
  std::string folder_;
  World world_;
  std::vector<Message> documents_;
  size_t produced_ = 0;
  bool moved_ = false;                       // documents may be judged again
  std::vector<std::vector<Partition>> old_;  // the partitions of deleted topics with the input's name
  std::set<std::string> same_as_before_;     // topics that are the one before, such as in@2, if it moved
  // The records that readers saw on the earlier clusters.
  std::map<std::string, std::vector<Message>> before_;
  int64_t copied_ = 0;  // up to here, the index log is a copy of the earlier cluster's
  std::vector<std::unique_ptr<Life>> lives_;
  std::vector<int> seen_;
  RunResult result_;
};

}  // namespace

RunResult run(const RunPlan& plan, const std::string& folder, bool trace) {
  ::setenv("DOPPEL_HASH_KEY", kHashKey, 1);
  return Run(plan, folder, trace).run();
}

}  // namespace doppel::simulation
