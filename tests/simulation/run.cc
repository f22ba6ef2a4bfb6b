#include "simulation/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"
#include "config/config.h"
#include "daemon/request_files.h"
#include "daemon/requests.h"
#include "kafka/state_content.h"
#include "kafka/truth.h"
#include "roles/roles.h"
#include "simulation/disk.h"
#include "simulation/documents.h"
#include "state/state_dir.h"

namespace doppel::simulation {
namespace {

using std::chrono::milliseconds;
using testing::Message;
constexpr const char* kHashKey = "000102030405060708090a0b0c0d0e0f";
constexpr size_t kPartitions = 3, kPartitionsMax = 4;  // at first, and later

// A process of doppel.
struct Life {
  int number = 0, task = -1;
  std::string directory;
  std::unique_ptr<LifeCluster> cluster;
  bool stop = false;
  std::optional<absl::Status> ended;
};

class Run {
 public:
  Run(const RunPlan& plan, std::string folder, bool trace)
      : plan_(plan), folder_(std::move(folder)), world_(plan.seed) {
    world_.tracing = trace;
    world_.forgets_aborts = plan.forgets_aborts;
    world_.input = "in";
    world_.events = "events";
    world_.index_log = world_.broker.index_log = "index";
    Clock::install(&world_.scheduler);
    world_.broker.topics["in"].partitions.resize(kPartitions);
    on_kill_points([this](std::string_view) {
      for (const auto& life : lives_)
        if (life->task == world_.scheduler.current()) return life->cluster->at_kill_point();
    });
    world_.reports_ids = plan.seed / 8 % 2 == 0;
    world_.recreate_topic = [this](uint32_t bits) { recreate_topic(bits); };
    world_.lose_tail = [this](uint32_t bits) { lose_tail(bits); };
    documents_ = make_documents(plan.seed, kPartitions);
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

  void produce(uint64_t count) {
    for (; count > 0 && produced_ < documents_.size(); --count) append(documents_[produced_++], 0);
  }
  size_t partitions() const { return world_.broker.topics.at("in").partitions.size(); }
  // With another number of partitions, documents come to others.
  int32_t partition_of(const Message& m) const {
    if (partitions() == kPartitions) return m.partition;
    return static_cast<int32_t>(static_cast<size_t>(m.partition + m.timestamp_ms / 60'000) % partitions());
  }
  void append(const Message& m, int64_t later_ms) {
    world_.broker.append(
        {"in", partition_of(m)},
        {.timestamp_ms = m.timestamp_ms + later_ms, .key = m.key, .value = m.value, .headers = m.headers});
  }

  // Creates another topic of the same name, with none, some or all of the documents so far, with other times:
  // it ends below, at or beyond the offset that was read. Does so only once doppel has read the previous one,
  // because it cannot know of a topic that came and went unseen.
  void recreate_topic(uint32_t bits) {
    bool read = false, knows_id = false;
    each_in_log([&](const LogRecord& record) {
      const auto* p = std::get_if<LogProgress>(&record);
      if (p == nullptr || p->incarnation != old_.size() + 1) return;
      read = read || p->next > 0;
      knows_id = !p->topic_id.empty();
    });
    if (!read || produced_ == 0) return;
    const size_t other = 2 + (bits >> 10) % (kPartitionsMax - 1);
    if ((bits >> 7) % 4 == 0 && other > partitions()) {  // it only gets more of them
      world_.broker.topics.at("in").partitions.resize(other);
      return;
    }
    world_.stale_id = world_.broker.id_of(world_.broker.topics.at("in"));
    left_for_before_ = left_for_before_ || offsets_wait();
    // With a stale answer and the same records nobody knows it at once.
    if (!knows_id || !same_times(bits))
      world_.stale_until = world_.scheduler.now() + milliseconds(bits / 11 % 900);
    refill(bits % 3 == 0   ? bits / 3 % (produced_ + 1)
           : bits % 3 == 1 ? produced_
                           : 0,
           (bits >> 7) % 4 == 1 ? other : partitions(), bits, knows_id);
  }
  // Whether a request for offsets waits. A life that was killed leaves one behind if the next one has another
  // directory, which gets the same advice.
  bool offsets_wait() const {
    const auto waits = [](const RequestFile& request) { return request.ending == kOffsetsRequest; };
    return !advice_.empty() || std::any_of(lives_.begin(), lives_.end(), [&](const auto& life) {
      const std::vector<RequestFile> all = requests_in(life->directory);
      return std::any_of(all.begin(), all.end(), waits);
    });
  }
  // A request that was left for the topic before raises the incarnation by itself, because the new topic does
  // not hold the record that was read last. Only then does doppel compare the topics and raise it again. It
  // reads nothing in the incarnation between: for the checks, that is a topic without documents.
  void count_incarnations() {
    size_t most = 0;
    each_in_log([&](const LogRecord& record) {
      if (const auto* p = std::get_if<LogProgress>(&record)) most = std::max<size_t>(most, p->incarnation);
    });
    while (left_for_before_ && most > old_.size() + 1) old_.emplace_back();
  }
  static bool same_times(uint32_t bits) { return bits / 13 % 3 == 1; }
  // With other times or with the same, by transactions or without. Without the id, nobody could know a
  // topic with the same records at the same times, so then other texts come at these times.
  void refill(size_t count, size_t parts, uint32_t bits = 0, bool knows_id = false) {
    Broker& broker = world_.broker;
    old_.push_back(broker.topics.at("in").partitions);
    broker.recreate("in", parts);
    const bool transactions = bits / 17 % 2 == 1;
    const size_t n = old_.size();
    const auto value = [&](size_t i, size_t topic) {
      return knows_id ? documents_[i].value : documents_[(i + 7 * topic) % documents_.size()].value;
    };
    for (size_t i = 0; i < count; ++i) {
      Message m = documents_[i];
      if (same_times(bits)) m.value = value(i, n);
      bool other_time = !same_times(bits);
      for (size_t before = 0; before < n && !knows_id; ++before)
        other_time = other_time || value(i, before) == m.value;
      append(m, other_time ? static_cast<int64_t>(n) * 3'600'001 : 0);
      if (transactions && i % 3 == bits % 3) mark("in", partition_of(m), bits / 19 % 2 == 0);
    }
  }
  // The end of a transaction, or an aborted record before it.
  void mark(const std::string& topic, int32_t partition, bool commit) {
    if (!commit)
      world_.broker.append({topic, partition}, {.value = "aborted", .state = StoredRecord::State::aborted});
    ++world_.broker.topics.at(topic).partitions[static_cast<size_t>(partition)].end;
  }

  // Cuts records off a partition, the last one that doppel has judged among them. The topic is the same, but
  // other records come at these offsets: for doppel this is the next incarnation.
  void lose_tail(uint32_t bits) {
    const auto n = static_cast<int32_t>(bits % partitions());
    int64_t judged = -1;
    each_in_log([&](const LogRecord& record) {
      const auto* p = std::get_if<LogProgress>(&record);
      if (p != nullptr && p->partition == n) judged = p->incarnation == old_.size() + 1 ? p->next : -1;
    });
    const std::vector<Partition>& all = world_.broker.topics.at("in").partitions;
    const std::vector<StoredRecord>& records = all[static_cast<size_t>(n)].records;
    const auto behind = static_cast<size_t>(std::count_if(
        records.begin(), records.end(), [&](const StoredRecord& r) { return r.offset + 1 >= judged; }));
    if (judged <= 0 || behind == 0) return;
    old_.push_back(all);
    cut_[old_.size()] = n;
    same_as_before_.insert(fmt::format("in@{}", old_.size() + 1));
    world_.broker.lose_tail({"in", n}, behind + bits / 5 % 4);
    begins_[{old_.size() + 1, n}] = all[static_cast<size_t>(n)].end;
    if (bits / 23 % 2 == 1) mark("in", n, bits / 29 % 2 == 0);
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
    const auto partition = static_cast<int32_t>(below(partitions()));
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
    next.topics["in"].partitions = std::move(world_.broker.topics["in"].partitions);
    world_.broker = std::move(next);
    world_.cluster += "-next";
    answer_again();
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path() != life.directory) std::filesystem::remove_all(entry.path());

    std::string offsets = "keep";
    if (chance(0.5)) {
      refill(below(produced_ + 1), partitions());
      same_as_before_.insert(fmt::format("in@{}", old_.size() + 1));
      offsets = folder_ + "/offsets";
      std::ofstream file(offsets);
      for (size_t p = 0; p < partitions(); ++p) file << fmt::format("in/{}=beginning\n", p);
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
    if (!advice_.empty()) {
      std::filesystem::create_directories(life.directory);
      if (leave_offsets_request(life.directory, std::exchange(advice_, {})).ok()) ++result_.requests;
    }
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
      if (options_.fsync != Fsync::none && chance(0.3)) lose_power(life.directory, world_.scheduler);
      return true;
    }
    const absl::Status& status = *life.ended;
    if (absl::IsAborted(status)) ++result_.replaced;
    const bool usual =
        status.ok() || absl::IsAborted(status) || absl::IsCancelled(status) || takes_advice(status);
    // docs/adr/0017 names this: only a person can continue then.
    if (absl::IsFailedPrecondition(status) &&
        status.message().find("must be sent again") != std::string::npos)
      ++world_.broker.did.lost;
    if (!usual) finding(fmt::format("life {} ended with: {}", life.number, status.ToString()));
    return true;
  }

  // A daemon that cannot know, or must not decide, names the command that helps. The next start gets it.
  bool takes_advice(const absl::Status& status) {
    constexpr std::string_view kCommand = "doppel offsets set ";
    const std::string_view text = std_sv(status.message());
    const size_t at = text.rfind(kCommand);
    if (!absl::IsFailedPrecondition(status) || at == std::string_view::npos || old_.empty()) return false;
    const std::string_view line = text.substr(at + 15);
    advice_ = line.substr(0, line.find(" --yes"));
    // Also of a topic that was made again, if our offsets came back to the group in between.
    same_as_before_.insert(fmt::format("in@{}", old_.size() + 1));
    moved_ = true;
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
    const size_t number =
        topic.find('@') == std::string::npos ? 1 : std::stoul(topic.substr(topic.find('@') + 1));
    const bool input = topic.starts_with("in") && topic != "index";
    for (size_t p = 0; p < kPartitionsMax; ++p) {
      size_t n = number;
      // Until doppel sees that one partition lost records, it reads on in the others.
      while (input && cut_.contains(n) && cut_.at(n) != static_cast<int32_t>(p)) ++n;
      const std::vector<Partition>& all = input && n <= old_.size() ? old_[n - 1] : found->second.partitions;
      if (p >= all.size()) continue;
      const Partition& partition = all[p];
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
  bool caught_up(const Life* owner = nullptr) {
    count_incarnations();
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
    for (size_t p = 0; p < input.size(); ++p) {
      const std::vector<StoredRecord>& records = input[p].records;
      const auto last = std::find_if(records.rbegin(), records.rend(), [](const StoredRecord& r) {
        return r.state == StoredRecord::State::committed;
      });
      if (last != records.rend() && progress[static_cast<int32_t>(p)] <= last->offset) return false;
    }
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
      if (over(life) && attempt < 6 && result_.findings.empty()) continue;
      finding(world_.exhausted ? "it goes round in circles: calls or records without end"
                               : "the last life does not judge all documents");
      return;
    }
    result_.documents = static_cast<int>(documents_.size());
    if (!result_.findings.empty() || world_.broker.did.lost != 0) return;
    check_begins();
    verify();
  }

  // After a lost tail, doppel reads again from where the partition differs, or from before.
  void check_begins() {
    if (compacted()) return;
    std::map<std::pair<size_t, int32_t>, int64_t> first;
    std::set<std::pair<size_t, int32_t>> judged;
    each_in_log([&](const LogRecord& record) {
      const auto* p = std::get_if<LogProgress>(&record);
      if (p == nullptr) return;
      const std::pair<size_t, int32_t> place{p->incarnation, p->partition};
      if (p->last_ms >= 0) judged.insert(place);
      // Of several requests that were carried out before anything was judged, the last one counts.
      if (!first.contains(place) || !judged.contains(place)) first[place] = p->last_ms < 0 ? p->next : 0;
    });
    for (const auto& [of, differs] : begins_) {
      const auto begins = first.find(of);
      if (begins != first.end() && begins->second > differs)
        finding(fmt::format("in@{}/{} is read from {}, but differs from {} on", of.first, of.second,
                            begins->second, differs));
    }
  }

  void verify() {
    const Options options = options_of(folder_ + "/a");
    const HashKey key = *parse_hash_key(kHashKey);
    // Without an id, a commit after a recreation makes a topic look like the one before.
    each_in_log([&](const LogRecord& record) {
      const auto* p = std::get_if<LogProgress>(&record);
      if (p != nullptr && p->moved > 0) same_as_before_.insert(fmt::format("in@{}", p->incarnation));
    });
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
  const Options options_ = options_of_seed(plan_.seed);
  std::string folder_;
  World world_;
  std::vector<Message> documents_;
  size_t produced_ = 0;
  bool moved_ = false;                       // documents may be judged again
  std::vector<std::vector<Partition>> old_;  // the partitions of deleted topics with the input's name
  std::map<size_t, int32_t> cut_;            // of these, 1 for the first, the partition that lost records
  std::map<std::pair<size_t, int32_t>, int64_t> begins_;  // where an incarnation differs from the one before
  std::string advice_;                                    // the arguments of doppel offsets
  bool left_for_before_ = false;          // the topic was made again while a request for offsets waited
  std::set<std::string> same_as_before_;  // topics that are the one before, such as in@2, if it moved
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
