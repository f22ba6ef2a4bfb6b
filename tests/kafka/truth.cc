#include "kafka/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "engine/indexed_engine.h"
#include "open/setup.h"
#include "pipeline/sign_record.h"
#include "records/metadata.h"
#include "simdjson.h"

namespace doppel::testing {
namespace {

constexpr size_t kLongKey = 500;

constexpr size_t kFindingsMax = 20;  // one is enough to fail; more only help to see a pattern

// ---- the order in the log

struct Range {
  std::string topic;
  int32_t partition = 0;
  int64_t begin = 0, end = 0;
};

struct LogBatch {
  std::vector<LogRow> rows;
  std::vector<Seq> removed;
  std::vector<LogExpire> expire;
  std::vector<Range> ranges;  // in the order of the batch
};

uint32_t incarnation_in(const std::string& topic) {
  const size_t at = topic.find('@');
  return at == std::string::npos ? 1 : static_cast<uint32_t>(std::stoul(topic.substr(at + 1)));
}
// "in@3" -> "in@2", "in@2" -> "in"
std::string topic_before(const std::string& topic) {
  const std::string name = topic.substr(0, topic.find('@'));
  const uint32_t incarnation = incarnation_in(topic) - 1;
  return incarnation > 1 ? fmt::format("{}@{}", name, incarnation) : name;
}

LogRecord parsed(const Message& m) {
  absl::StatusOr<LogRecord> record = parse_log_record(
      m.key.value_or(""), m.value ? std::string_view(*m.value) : std::string_view(), m.value.has_value());
  if (!record.ok())
    throw KafkaError(fmt::format("index log, offset {}: {}", m.offset, record.status().ToString()));
  return *std::move(record);
}

// A batch ends with progress records in ascending order. If the next progress record does not ascend, it
// belongs to the next batch. The first record of a partition may also tell where its input begins: there is
// no document before it.
std::vector<LogBatch> batches_of(const std::vector<Message>& log, const Offsets& first,
                                 std::vector<std::string>& findings) {
  std::vector<LogBatch> out;
  LogBatch batch;
  Offsets progress;
  std::map<Seq, int64_t> written;  // where in the log
  const auto close = [&] {
    if (!batch.ranges.empty()) out.push_back(std::exchange(batch, {}));
  };
  for (const Message& m : log) {
    const LogRecord record = parsed(m);
    const auto* p = std::get_if<LogProgress>(&record);
    if (p == nullptr) {
      close();
      if (const auto* row = std::get_if<LogRow>(&record)) {
        const auto [first_time, fresh] = written.try_emplace(row->seq, m.offset);
        if (!fresh && findings.size() < kFindingsMax)
          findings.push_back(fmt::format("log offset {}: number {} is written again, first at {}", m.offset,
                                         row->seq, first_time->second));
        batch.rows.push_back(*row);
      }
      if (const auto* removed = std::get_if<LogRemoved>(&record)) batch.removed.push_back(removed->seq);
      if (const auto* expire = std::get_if<LogExpire>(&record)) batch.expire.push_back(*expire);
      continue;
    }
    const std::string topic = topic_of(*p);
    if (!batch.ranges.empty() &&
        std::tie(topic, p->partition) <= std::tie(batch.ranges.back().topic, batch.ranges.back().partition))
      close();
    const auto [place, fresh] = progress.try_emplace({topic, p->partition}, 0);
    int64_t& at = place->second;
    if (p->last_ms < 0) {  // somebody has moved it, or it begins here
      close();
      at = p->next;
      batch.ranges.push_back({topic, p->partition, at, at});
      close();
      continue;
    }
    const auto begin = first.find(place->first);
    if (fresh && (begin == first.end() || p->next <= begin->second)) {
      close();
      at = p->next;
      continue;
    }
    if (p->next <= at)
      findings.push_back(fmt::format("log offset {}: progress of {}/{} goes from {} to {}", m.offset, topic,
                                     p->partition, at, p->next));
    batch.ranges.push_back({topic, p->partition, at, p->next});
    at = p->next;
  }
  close();
  if (!batch.rows.empty()) findings.emplace_back("the log ends with rows that no progress record follows");
  if (!batch.removed.empty()) out.push_back(std::move(batch));  // requests to forget while no document came
  return out;
}

// ---- the expected results

struct Said {  // the comparable parts of an event
  std::string type, kind, verdict, cluster, reason, key, relations;
  int64_t ppm = 0;
  bool operator==(const Said&) const = default;
  std::string text() const {
    return fmt::format(
        "{{type {}, kind {}, verdict {}, similarity {}, cluster {}, reason {}, key {}, relations {}}}", type,
        kind, verdict, ppm, cluster, reason, key, relations);
  }
};

// Describes one relation of an event: its original, shares in millionths, passages in words.
std::string relation_text(std::string_view relation, std::string_view cluster, int64_t of_document,
                          int64_t of_original, int64_t shared, const std::vector<WordRange>& passages) {
  std::string out =
      fmt::format("[{} {}: {} of {} and {}", relation, cluster, shared, of_document, of_original);
  for (const WordRange& p : passages) out += fmt::format(" {}-{}", p.begin, p.end);
  return out + "]";
}

int64_t share_in(const simdjson::dom::element& from, const char* name) {
  double share = -1;
  return from[name].get(share) == simdjson::SUCCESS ? std::llround(share * 1e6) : -1;
}

// The relations in the form of relation_text(); "" if there are none.
std::string relations_in(const simdjson::dom::element& event) {
  simdjson::dom::array relations;
  if (event["relations"].get(relations) != simdjson::SUCCESS) return "";
  std::string out;
  for (const simdjson::dom::element each : relations) {
    std::string_view relation, cluster;
    int64_t shared = -1;
    simdjson::dom::array passages;
    if (each["relation"].get(relation) != simdjson::SUCCESS ||
        each["cluster_id"].get(cluster) != simdjson::SUCCESS ||
        each["shared"].get(shared) != simdjson::SUCCESS ||
        each["passages"].get(passages) != simdjson::SUCCESS)
      return "a relation lacks members";
    std::vector<WordRange> ranges;
    for (const simdjson::dom::element passage : passages) {
      uint64_t begin = 0, end = 0;
      if (passage.at_pointer("/0").get(begin) != simdjson::SUCCESS ||
          passage.at_pointer("/1").get(end) != simdjson::SUCCESS)
        return "a passage is no range";
      ranges.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    }
    out += relation_text(relation, cluster, share_in(each, "of_document"), share_in(each, "of_original"),
                         shared, ranges);
  }
  uint64_t more = 0;
  if (event["relations_more"].get(more) == simdjson::SUCCESS) out += fmt::format(" and {}", more);
  return out;
}

class Checker {
 public:
  Checker(const Options& options, const EngineOptions& engine_options, const std::set<std::string>& moved)
      : options_(options),
        moved_(moved),
        bodies_(memory_bodies()),
        names_(engine_options, *bodies_),
        best_(Best::parse(options.input.best)),
        keys_{.tombstones = options.tombstones == Tombstones::key,
              .replace = options.on_update == OnUpdate::replace},
        signer_(names_.options().scheme, names_.options().with_sets(), options.input, keys_),
        slow_(engine_options),
        slices_(engine_options.scheme.num_perm) {}

  void run(const std::vector<LogBatch>& batches, std::map<std::string, std::vector<Message>>& inputs) {
    for (const LogBatch& batch : batches) {
      std::vector<Seq> removed;
      // Requests to forget come first in a batch. Only their effects show which ones there were.
      for (const Seq seq : batch.removed) {
        const auto original = originals_.find(seq);
        if (original == originals_.end() || !next_is_forgotten(original->second.event_id)) break;
        slow_.forget(seq);
      }
      write_removed(removed);
      size_t row = 0;
      for (const Range& range : batch.ranges) {
        std::vector<Message>& topic = inputs[range.topic];
        auto it = std::lower_bound(
            topic.begin(), topic.end(), std::make_tuple(range.partition, range.begin),
            [](const Message& m, auto place) { return std::make_tuple(m.partition, m.offset) < place; });
        for (; it != topic.end() && it->partition == range.partition && it->offset < range.end; ++it)
          document(*it, batch, row, removed);
      }
      if (row != batch.rows.size())
        finding(fmt::format("{} rows in the log, {} originals", batch.rows.size(), row));
      if (removed != batch.removed)
        finding(fmt::format("{} removals in the log, {} expected", batch.removed.size(), removed.size()));
      for (const LogExpire& e : batch.expire) announced_ = std::max(announced_, e.announced);
      if (!batch.expire.empty() && batch.expire.back().lowest_live != slow_.lowest_live())
        finding(fmt::format("expired up to {}, expected {}", batch.expire.back().lowest_live,
                            slow_.lowest_live()));
    }
    for (Seq seq = 0; seq < slow_.lowest_live(); ++seq) {
      if (removed_.contains(seq)) continue;
      removal_event(seq, options_.max_documents > 0 ? "evicted" : "expired");
      ++result.expired;
    }
    result.batches = batches.size();
  }

  // Call before run().
  void find_forgotten(const std::vector<Message>& events) {
    simdjson::dom::parser parser;
    for (const Message& m : events) {
      std::string_view type, reason, cluster;
      simdjson::dom::element e;
      if (m.value && parser.parse(*m.value).get(e) == simdjson::SUCCESS &&
          e["type"].get(type) == simdjson::SUCCESS && type == "original-removed" &&
          e["reason"].get(reason) == simdjson::SUCCESS && e["cluster_id"].get(cluster) == simdjson::SUCCESS) {
        if (reason != "expired" && reason != "evicted")
          removal_reasons_[std::string(cluster)].emplace_back(reason);
        if (reason == "forgotten") result.forgotten.emplace(cluster);
      }
    }
  }

  void events(const std::vector<Message>& messages) {
    simdjson::dom::parser parser;
    std::map<std::string, size_t> seen;
    for (const Message& m : messages) {
      const std::string json = m.value.value_or("");
      simdjson::dom::element e;
      if (parser.parse(json).get(e) != simdjson::SUCCESS) {
        finding("not JSON: " + json);
        continue;
      }
      const auto text = [&](const char* name) {
        std::string_view value;
        return std::string(e[name].get(value) == simdjson::SUCCESS ? value : std::string_view());
      };
      Said said{.type = text("type"),
                .kind = text("kind"),
                .verdict = text("verdict"),
                .cluster = text("cluster_id"),
                .reason = text("reason"),
                .key = m.key.value_or("(none)"),
                .relations = relations_in(e)};
      double similarity = 0;
      if (e["similarity"].get(similarity) == simdjson::SUCCESS) said.ppm = std::llround(similarity * 1e6);
      if (said.type == "better-copy") describe_better(e, said);
      const std::string id = said.type == "original-removed" ? said.cluster + "/removed"
                             : said.type == "better-copy"    ? text("event_id") + "/better"
                                                             : text("event_id");
      if (m.header("ce_id") != id)
        finding(fmt::format("header ce_id {} of the event {}", m.header("ce_id"), id));
      const auto expected = expected_.find(id);
      const size_t nth = seen[id]++;  // a document is judged a second time if somebody moved the input back
      if (expected == expected_.end()) {
        finding(fmt::format("nobody expected {}: {}", id, json));
      } else if (nth >= expected->second.size()) {
        finding("doubled: " + id);
      } else {
        // The topic may accept only smaller records than before: then these events omit a long key.
        const bool shortened = said.type == "original-removed" || said.type == "better-copy";
        if (shortened && !m.key && expected->second[nth].key.size() > kLongKey)
          said.key = expected->second[nth].key;
        if (std::find(expected->second.begin(), expected->second.end(), said) == expected->second.end())
          finding(fmt::format("wrong: {} is {}, expected {}", id, said.text(), expected->second[nth].text()));
      }
    }
    for (const auto& [id, said] : expected_) {
      const auto found = seen.find(id);
      const size_t times = found == seen.end() ? 0 : found->second;
      if (times < said.size() && !too_large_.contains(id))
        finding(fmt::format("lost: {} {}", id, said.back().text()));
    }
  }

  // Call it before events(), because events that were too large are here.
  void dead_letters(const std::vector<Message>& messages) {
    std::map<std::string, size_t> seen;
    for (const Message& m : messages) {
      const std::string incarnation = m.header("doppel.incarnation");
      const std::string id = fmt::format(
          "{}{}{}/{}/{}", m.header("__connect.errors.topic"), incarnation.empty() ? "" : "@", incarnation,
          m.header("__connect.errors.partition"), m.header("__connect.errors.offset"));
      if (m.header("__connect.errors.stage") != "SIGN") {
        too_large_.insert(id);
        continue;
      }
      const auto expected = rejected_.find(id);
      const size_t nth = seen[id]++;
      if (expected == rejected_.end()) {
        finding("nobody expected the dead letter " + id);
      } else if (nth >= times_rejected_[id]) {
        finding("doubled: dead letter " + id);
      } else if ((m.key != expected->second->key && m.header("doppel.left_out_key_bytes").empty()) ||
                 m.timestamp_ms != expected->second->timestamp_ms ||
                 (m.value != expected->second->value && m.header("doppel.left_out_bytes").empty())) {
        finding("changed: dead letter " + id);
      } else if (m.header("doppel.left_out_headers").empty() &&
                 (m.headers.size() < expected->second->headers.size() ||
                  !std::equal(expected->second->headers.begin(), expected->second->headers.end(),
                              m.headers.begin()))) {
        finding("changed: headers of the dead letter " + id);
      }
    }
    for (const auto& [id, message] : rejected_) {
      if (seen[id] < times_rejected_[id]) finding("lost: dead letter " + id);
    }
  }

  void unique_documents(std::vector<Message> messages) {
    const auto what = [](const Message& m) { return std::tie(m.key, m.value, m.timestamp_ms, m.headers); };
    const auto less = [&](const Message& a, const Message& b) { return what(a) < what(b); };
    std::sort(messages.begin(), messages.end(), less);
    std::sort(unique_.begin(), unique_.end(), less);
    if (messages.size() != unique_.size())
      finding(fmt::format("{} unique documents, expected {}", messages.size(), unique_.size()));
    for (size_t i = 0; i < std::min(messages.size(), unique_.size()); ++i) {
      if (what(messages[i]) == what(unique_[i])) continue;
      finding(fmt::format("unique document {} is not {}", messages[i].key.value_or(""),
                          unique_[i].key.value_or("")));
      break;
    }
  }

  void finding(std::string text) {
    if (result.findings.size() < kFindingsMax) result.findings.push_back(std::move(text));
  }

  Verification result;

 private:
  struct Original {
    std::string event_id, key;
    std::optional<double> value;  // of the copy that its cluster shows
    std::string shows = event_id;
  };

  // Stores the copies that the cluster shows now and showed before, and their values.
  static void describe_better(const simdjson::dom::element& event, Said& said) {
    double value = 0, before = 0;
    std::string_view event_id;
    if (event["value"].get(value) != simdjson::SUCCESS ||
        event["instead_of"]["event_id"].get(event_id) != simdjson::SUCCESS) {
      said.reason = "members are missing";
      return;
    }
    const bool valued = event["instead_of"]["value"].get(before) == simdjson::SUCCESS;
    said.reason = better_text(value, event_id, valued ? std::optional(before) : std::nullopt);
  }
  static std::string better_text(double value, std::string_view before, std::optional<double> than) {
    return fmt::format("{} instead of {} with {}", value, before,
                       than ? fmt::format("{}", *than) : "nothing");
  }

  void better_copy(const SignedDocument& document, Seq seq, const std::string& id, const std::string& key) {
    if (!best_.ok()) return;
    const std::optional<double> value = best_of_metadata(document.metadata)->value;
    Original& original = originals_.at(seq);
    if (!best_->better(value, original.value)) return;
    expected_[id + "/better"].push_back({.type = "better-copy",
                                         .cluster = original.event_id,
                                         .reason = better_text(*value, original.shows, original.value),
                                         .key = key});
    original.value = value;
    original.shows = id;
    ++result.better;
  }

  // A document that is judged once more after a rewind may become an original, and be removed, several times.
  // Its removals come in order.
  bool next_is_forgotten(const std::string& event_id) {
    const std::vector<std::string>& reasons = removal_reasons_[event_id];
    const size_t nth = expected_[event_id + "/removed"].size();
    return nth < reasons.size() && reasons[nth] == "forgotten";
  }

  void removal_event(Seq seq, const std::string& reason) {
    const Original& original = originals_.at(seq);
    expected_[original.event_id + "/removed"].push_back(
        {.type = "original-removed", .cluster = original.event_id, .reason = reason, .key = original.key});
  }

  void write_removed(std::vector<Seq>& removed) {
    for (; told_ < slow_.removed().size(); ++told_) {
      const Removed& gone = slow_.removed()[told_];
      removed.push_back(gone.seq);
      removed_.insert(gone.seq);
      removal_event(gone.seq, std::string(removal_reason_name(gone.reason)));
      ++result.removed;
    }
  }

  // Whether the original is the document itself, judged a second time.
  bool came_again(const std::string& original, const Message& m, bool exact) const {
    for (std::string topic = m.topic;; topic = topic_before(topic)) {
      if (original == fmt::format("{}/{}/{}", topic, m.partition, m.offset)) return exact || topic == m.topic;
      if (!moved_.contains(topic)) return false;
    }
  }

  void document(const Message& m, const LogBatch& batch, size_t& row, std::vector<Seq>& removed) {
    ++result.documents;
    std::string bytes = m.value.value_or("");
    const size_t size = bytes.size();
    bytes.resize(size + kRecordPadding);
    std::vector<Header> headers;
    headers.reserve(m.headers.size());
    for (const auto& [name, value] : m.headers) headers.push_back({name, value});
    Record record{.value = std::string_view(bytes).substr(0, size), .null_value = !m.value.has_value()};
    if (m.key) record.key = *m.key;
    record.headers = headers;
    record.source = std::string_view(m.topic).substr(0, m.topic.find('@'));
    record.incarnation = incarnation_in(m.topic);
    for (std::string topic = m.topic; moved_.contains(topic); topic = topic_before(topic)) ++record.moved;
    record.partition = m.partition;
    record.offset = static_cast<uint64_t>(m.offset);
    record.timestamp_ms = m.timestamp_ms;
    SignedDocument document;
    signer_.sign(record, document, slices_.data());
    const bool scored = document.content <= Content::digest_only;
    const SlowOutcome outcome =
        scored && document.action == SignedDocument::Action::judge
            ? slow_.judge(document, slices_.data())
            : slow_.judge({.content = Content::empty, .timestamp_ms = document.timestamp_ms}, nullptr);
    if (document.action == SignedDocument::Action::remove) slow_.remove(document.id_tag);
    write_removed(removed);
    if (document.action == SignedDocument::Action::remove) return;
    const Verdict verdict = scored ? outcome.verdict : verdict_without_text(document.content);
    const std::string id = fmt::format("{}/{}/{}", m.topic, m.partition, m.offset);
    Said said{.type = "verdict", .key = m.key.value_or("(none)")};
    switch (verdict) {
      case Verdict::duplicate:
        if (came_again(originals_.at(outcome.seq).event_id, m, outcome.kind == Kind::exact)) {
          said.verdict = "skipped";
          said.reason = "repeated";
          break;
        }
        ++result.duplicates;
        said.type = "duplicate-of";
        said.kind = outcome.kind == Kind::exact       ? "exact"
                    : outcome.kind == Kind::contained ? "contained"
                                                      : "near";
        said.ppm = similarity_ppm(outcome.similarity);
        said.cluster = originals_.at(outcome.seq).event_id;
        expected_[id].push_back(said);
        better_copy(document, outcome.seq, id, said.key);
        return;
      case Verdict::unique:
        ++result.originals;
        said.verdict = "unique";
        said.cluster = id;
        originals_[outcome.seq] = {id, said.key,
                                   best_.ok() ? best_of_metadata(document.metadata)->value : std::nullopt};
        said.relations = relations_of(outcome);
        result.related += outcome.related.empty() ? 0 : 1;
        unique_.push_back(m);
        log_row(document, outcome.seq, batch, row, id);
        break;
      case Verdict::rejected:
        ++result.rejected;
        said.verdict = "rejected";
        said.reason = document.reason;
        rejected_[id] = &m;
        ++times_rejected_[id];
        break;
      case Verdict::unscored:
        said.verdict = "unscored";
        said.reason = document.reason;
        break;
      case Verdict::skipped:
        said.verdict = "skipped";
        said.reason = document.reason;
        break;
      case Verdict::removal:
        return;
    }
    if (options_.output.verdicts == Verdicts::all) {
      expected_[id].push_back(said);
    } else if (!said.relations.empty()) {
      said.type = "partial-copy-of";
      said.verdict = said.cluster = "";
      expected_[id].push_back(said);
    }
  }

  std::string relations_of(const SlowOutcome& outcome) const {
    std::string out;
    for (const Related& r : outcome.related) {
      out += relation_text(
          relation_name(r.relation), originals_.at(r.seq).event_id, similarity_ppm({r.shared, r.of_document}),
          similarity_ppm({r.shared, r.of_original}), static_cast<int64_t>(r.shared), r.passages);
    }
    if (outcome.related_more != 0) out += fmt::format(" and {}", outcome.related_more);
    return out;
  }

  void log_row(const SignedDocument& document, Seq seq, const LogBatch& batch, size_t& row,
               const std::string& id) {
    if (row >= batch.rows.size()) {
      finding(fmt::format("no row in the log for the original {}", id));
      return;
    }
    const LogRow& found = batch.rows[row++];
    const std::string_view slices =
        document.content == Content::shingled
            ? std::string_view(reinterpret_cast<const char*>(slices_.data()), slices_.size())
            : std::string_view();
    if (found.seq != seq || found.digest != document.digest || found.id_tag != document.id_tag ||
        found.slices != slices || found.body.metadata != document.metadata)
      finding(fmt::format("the row {} in the log is not that of {}, number {}", found.seq, id, seq));
  }

  const Options& options_;
  const std::set<std::string>& moved_;
  std::unique_ptr<Bodies> bodies_;
  Engine names_;
  absl::StatusOr<Best> best_;  // not ok: output.best is not set
  KeyPolicy keys_;
  RecordSigner signer_;
  IndexedEngine slow_;
  std::vector<uint8_t> slices_;
  std::map<Seq, Original> originals_;
  std::set<Seq> removed_;
  size_t told_ = 0;  // entries of slow_.removed() that were handled
  Seq announced_ = 0;
  std::map<std::string, std::vector<std::string>>
      removal_reasons_;                                // of an event id, in the topic's order; without expiry
  std::map<std::string, std::vector<Said>> expected_;  // one entry for each time that the document is judged
  std::map<std::string, const Message*> rejected_;
  std::map<std::string, size_t> times_rejected_;
  std::set<std::string> too_large_;
  std::vector<Message> unique_;
};

}  // namespace

std::string topic_of(const LogProgress& p) {
  return p.incarnation > 1 ? fmt::format("{}@{}", p.topic, p.incarnation) : p.topic;
}

Offsets ends_of(const std::vector<Message>& messages, size_t count) {
  Offsets out;
  for (size_t i = 0; i < count; ++i) {
    int64_t& end = out[{messages[i].topic, messages[i].partition}];
    end = std::max(end, messages[i].offset + 1);
  }
  return out;
}

namespace {
std::string once_there(const std::string& bootstrap, const std::string& topic, const Properties& properties) {
  Client client(bootstrap, properties);
  const auto deadline = Reader::Clock::now() + std::chrono::seconds(60);
  while (!client.topic_exists(topic)) {
    if (Reader::Clock::now() > deadline) throw KafkaError("nobody makes the topic " + topic);
  }
  return topic;
}
}  // namespace

LogFollower::LogFollower(const std::string& bootstrap, const std::string& index_log,
                         const Properties& properties)
    : reader_(bootstrap, once_there(bootstrap, index_log, properties), properties) {}

bool LogFollower::await(const Offsets& ends, std::chrono::seconds patience,
                        const std::function<bool()>& stop) {
  const auto done = [&] {
    if (expire_.announced < expire_.lowest_live) return false;
    return std::all_of(ends.begin(), ends.end(), [&](const auto& end) {
      const auto it = progress_.find(end.first);
      return it != progress_.end() && it->second >= end.second;
    });
  };
  const auto deadline = Reader::Clock::now() + patience;
  while (!done()) {
    if (Reader::Clock::now() > deadline || (stop && stop())) return false;
    if (const std::optional<Message> m = reader_.next(std::chrono::seconds(1))) {
      const LogRecord record = parsed(*m);
      if (const auto* p = std::get_if<LogProgress>(&record))
        progress_[{topic_of(*p), p->partition}] = p->next;
      if (const auto* e = std::get_if<LogExpire>(&record)) expire_ = *e;
    }
  }
  return true;
}

std::string Verification::text() const {
  std::string out = fmt::format(
      "{} documents in {} batches: {} originals, {} with relations, {} duplicates, {} better, {} rejected; "
      "{} "
      "removed, {} expired",
      documents, batches, originals, related, duplicates, better, rejected, removed, expired);
  for (const std::string& f : findings) out += "\n  " + f;
  return out;
}

Verification verify_run(const std::string& bootstrap, const Options& options, const HashKey& key,
                        const std::vector<std::string>& inputs, const Properties& properties) {
  return verify_topics([&](const std::string& topic) { return read_all(bootstrap, topic, properties); },
                       options, key, inputs);
}

Verification verify_topics(const ReadTopic& read, const Options& options, const HashKey& key,
                           const std::vector<std::string>& inputs, const std::set<std::string>& moved) {
  const absl::StatusOr<EngineOptions> engine = engine_options(options, key);
  if (!engine.ok()) throw KafkaError(engine.status().ToString());
  Checker checker(options, *engine, moved);
  const std::vector<Message> log = read(options.kafka.index_log);
  std::map<std::string, std::vector<Message>> documents;
  Offsets first, ends;
  for (const std::string& topic : inputs) {
    std::vector<Message>& messages = documents[topic];
    messages = read(topic);
    std::sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
      return std::tie(a.partition, a.offset) < std::tie(b.partition, b.offset);
    });
    for (const Message& m : messages) first.try_emplace({topic, m.partition}, m.offset);
    ends.merge(ends_of(messages, messages.size()));
  }
  const std::vector<LogBatch> batches = batches_of(log, first, checker.result.findings);
  Offsets covered;
  for (const LogBatch& b : batches) {
    for (const Range& r : b.ranges) covered[{r.topic, r.partition}] = r.end;
  }
  for (const auto& [place, end] : ends) {
    const std::string made_later =
        fmt::format("{}@{}", place.first.substr(0, place.first.find('@')), incarnation_in(place.first) + 1);
    if (std::find(inputs.begin(), inputs.end(), made_later) != inputs.end()) continue;  // it was deleted
    if (covered[place] != end)
      checker.finding(
          fmt::format("{}/{} is read to {}, but ends at {}", place.first, place.second, covered[place], end));
  }
  const std::vector<Message> events = read(options.output.topic);
  checker.find_forgotten(events);
  checker.run(batches, documents);
  if (!options.output.dead_letters.empty()) checker.dead_letters(read(options.output.dead_letters));
  checker.events(events);
  if (!options.output.unique_topic.empty()) checker.unique_documents(read(options.output.unique_topic));
  return checker.result;
}

}  // namespace doppel::testing
