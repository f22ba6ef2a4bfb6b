#include "status/api.h"

#include <algorithm>
#include <tuple>

#include "base/log.h"
#include "base/status.h"
#include "insight/json_writer.h"
#include "stream/events.h"
#include "stream/metadata.h"

namespace doppel {
namespace {

using http::Request;
using http::Response;
using std::chrono::milliseconds;

constexpr milliseconds kAnswerTime{5'000};
constexpr milliseconds kSearchTime{60'000};
constexpr milliseconds kCommitTime{30'000};
constexpr milliseconds kSnapshotTime{60'000};
constexpr Seq kSlice = 100'000;  // originals that one question looks at
constexpr size_t kShownMost = 100;

Response busy() {
  Response out = http::error(503, "the stream is busy or restoring, or other requests wait; try again");
  out.headers.emplace_back("Retry-After", "5");
  return out;
}

void write_document(JsonWriter& json, std::string_view key, const Metadata& m) {
  json.open(key, '{');
  json.text("id", m.name());
  json.text("event_id", m.event_id());
  if (m.url.empty()) {
    json.null("url");
  } else {
    json.text("url", m.url);
  }
  if (m.date_ms) {
    json.text("date", format_time(*m.date_ms));
  } else {
    json.null("date");
  }
  json.close();
}

void write_original(JsonWriter& json, std::string_view key, std::string_view encoded) {
  Metadata m;
  if (decode_metadata(encoded, m).ok()) {
    write_document(json, key, m);
  } else {
    json.null(key);
  }
}

void write_similarity(JsonWriter& json, uint32_t ppm, bool estimated) {
  json.real("similarity", ppm / 1e6);
  json.boolean("estimated", estimated);
}

bool has_tag(std::string_view tags, std::string_view wanted) {
  while (!tags.empty()) {
    const size_t end = std::min(tags.find('\n'), tags.size());
    if (tags.substr(0, end) == wanted) return true;
    tags.remove_prefix(std::min(end + 1, tags.size()));
  }
  return false;
}

// A candidate of a checked document.
struct Match {
  Seq seq = 0;
  uint32_t ppm = 0;
  bool exact = false, estimated = false;
  BodyRef body;
};

}  // namespace

Api::Api(ApiParts parts) : parts_(std::move(parts)) {}

http::Handler Api::guarded(http::Handler handler) const {
  return [gate = gate_, handler = std::move(handler)](const Request& request) {
    const std::shared_lock lock(gate->mutex);
    return gate->closed ? busy() : handler(request);
  };
}

void Api::route(http::Server& server) {
  using http::Access;
  const auto add = [&](const char* method, const char* pattern, http::Handler handler, Access access) {
    server.route(method, pattern, guarded(std::move(handler)), access);
  };
  add("POST", "/v1/check", [this](const Request& r) { return check(r); }, Access::open);
  add("GET", "/v1/documents/{id}", [this](const Request& r) { return document(r); }, Access::open);
  add("DELETE", "/v1/documents/{id}", [this](const Request& r) { return forget_id(r); }, Access::token);
  add("DELETE", "/v1/documents", [this](const Request& r) { return forget_tag(r); }, Access::token);
  add("GET", "/v1/clusters/{id}", [this](const Request& r) { return cluster(r); }, Access::open);
  add("POST", "/v1/snapshot", [this](const Request&) { return snapshot(); }, Access::token);
}

Response Api::forget_id(const Request& request) {
  const std::string id(*request.param("id"));
  return forget([&](const Metadata& m) { return m.name() == id || m.event_id() == id; }, "id=" + id);
}

Response Api::forget_tag(const Request& request) {
  if (request.query.size() != 1 || request.query.front().first.empty() ||
      request.query.front().second.empty())
    return http::error(400, "name one tag and its value, such as ?crawl=ID");
  const std::string tag = request.query.front().first + "=" + request.query.front().second;
  return forget([&](const Metadata& m) { return has_tag(m.tags, tag); }, "tag=" + tag);
}

Response Api::check(const Request& request) const {
  if (request.body.empty())
    return http::error(400, "the body is the document, as it would stand in the input");
  std::string bytes(request.body);
  bytes.append(kRecordPadding, '\0');
  Record record;
  record.value = std::string_view(bytes).substr(0, request.body.size());
  record.source = "check";
  record.whole_file = request.header("content-type").value_or("").starts_with("text/");
  record.warc = parts_.format.format == "warc";

  Work work;
  work.resize(1, parts_.engine.options());
  RecordSigner signer(parts_.engine, parts_.format, parts_.keys);
  SignedDocument& document = work.sign.documents.front();
  signer.sign(record, document, work.sign.slices.data());
  if (document.content == Content::rejected)
    return http::error(422, "the document cannot be read: " + document.reason);
  document.action = SignedDocument::Action::judge;

  Outcome outcome;
  std::string original;
  std::vector<Match> matches;
  absl::Status status;
  const bool answered = parts_.mailbox.ask(
      [&] {
        MatchCounters counters;
        status = parts_.engine.match(work, 0, 1, counters);
        if (!status.ok()) return;
        outcome = parts_.engine.decide(work, 0);
        original = outcome.original;
        const Index& index = parts_.engine.index();
        const Matched& matched = work.matched.front();
        if (matched.exact)
          matches.push_back({.seq = *matched.exact,
                             .ppm = 1'000'000,
                             .exact = true,
                             .body = index.row(*matched.exact).body});
        for (const Verified& candidate : matched.candidates) {
          if (!candidate.checked || candidate.seq == matched.exact) continue;
          matches.push_back({.seq = candidate.seq,
                             .ppm = similarity_ppm(candidate.overlap),
                             .estimated = candidate.estimated,
                             .body = index.row(candidate.seq).body});
        }
      },
      kAnswerTime);
  if (!answered) return busy();
  if (!status.ok()) return http::error(500, "the index cannot be read; the log says why");
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return std::tuple(!a.exact, b.ppm, a.seq) < std::tuple(!b.exact, a.ppm, b.seq);
  });

  JsonWriter json;
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  json.text("verdict", verdict_name(outcome.verdict));
  if (!document.reason.empty()) json.text("reason", document.reason);
  if (duplicate) {
    json.text("kind", kind_name(outcome.kind));
    write_similarity(json, similarity_ppm(outcome.similarity), outcome.estimated);
    write_original(json, "original", original);
  }
  json.open("matches", '[');
  std::string buffer;
  for (size_t i = 0; i < std::min<size_t>(matches.size(), 10); ++i) {
    const auto body = parts_.bodies.read(matches[i].body, buffer);
    json.open("", '{');
    json.boolean("exact", matches[i].exact);
    write_similarity(json, matches[i].ppm, matches[i].estimated);
    write_original(json, "original", body.ok() ? body->metadata : std::string_view());
    json.close();
  }
  json.close();
  return {.body = json.finish()};
}

// Newest first. The places of bodies are copied on the pipeline's thread, piece by piece; they are read here.
Api::Search Api::find(const Wanted& wanted, std::vector<Original>& out) const {
  const Turn::Lock one(searching_, kAnswerTime);
  if (!one.owns()) return Search::busy;
  const auto deadline = std::chrono::steady_clock::now() + kSearchTime;
  const Index& index = parts_.engine.index();
  std::optional<Seq> end;
  std::vector<std::pair<Seq, BodyRef>> piece;
  std::string buffer;
  for (;;) {
    if (std::chrono::steady_clock::now() > deadline) return Search::busy;
    bool last = false;
    piece.clear();
    const auto copy = [&] {
      if (!end) end = index.next_seq();
      const Seq lowest = index.lowest_live();
      Seq seq = *end;
      for (Seq n = 0; n < kSlice && seq > lowest; ++n) {
        --seq;
        if (index.live(seq)) piece.emplace_back(seq, index.row(seq).body);
      }
      end = seq;
      last = seq <= lowest;
    };
    if (!parts_.mailbox.ask(copy, kAnswerTime)) return Search::unanswered;
    for (const auto& [seq, ref] : piece) {
      const auto body = parts_.bodies.read(ref, buffer);
      Metadata m;
      if (!body.ok() || !decode_metadata(body->metadata, m).ok()) continue;
      if (wanted(m)) out.push_back({.seq = seq, .metadata = std::string(body->metadata)});
    }
    if (last) return Search::done;
  }
}

Response Api::document(const Request& request) const {
  const std::string id(*request.param("id"));
  std::vector<Original> found;
  if (find([&](const Metadata& m) { return m.name() == id || m.event_id() == id; }, found) != Search::done)
    return busy();
  if (found.empty()) return http::error(404, "no original has this id or event_id");
  JsonWriter json;
  json.number("count", found.size());
  json.open("originals", '[');
  for (size_t i = 0; i < std::min(found.size(), kShownMost); ++i) write_original(json, "", found[i].metadata);
  json.close();
  return {.body = json.finish()};
}

Response Api::forget(const Wanted& wanted, const std::string& what) {
  if (!parts_.writes) return http::error(403, "this daemon changes nothing (dry_run)");
  const Turn::Lock one(forgetting_, kAnswerTime);
  if (!one.owns()) return busy();
  std::vector<Original> found;
  if (find(wanted, found) != Search::done) return busy();
  if (found.empty()) return http::error(404, "no original fits");
  std::unique_lock lock(mutex_);
  if (stage_ == Stage::closed) return busy();
  for (const Original& original : found) forget_.push_back(original.seq);
  stage_ = Stage::waiting;
  changed_.wait_for(lock, kCommitTime, [&] { return stage_ == Stage::settled || stage_ == Stage::closed; });
  if (stage_ != Stage::settled) {
    if (stage_ == Stage::waiting) forget_.clear(), stage_ = Stage::none;
    return busy();
  }
  stage_ = Stage::none;
  log::info("forgot originals by request", {{"request", what}, {"originals", found.size()}});
  JsonWriter json;
  json.number("forgotten", found.size());
  json.open("originals", '[');
  for (size_t i = 0; i < std::min(found.size(), kShownMost); ++i) write_original(json, "", found[i].metadata);
  json.close();
  return {.body = json.finish()};
}

bool Api::fill(Work& work) {
  const std::lock_guard lock(mutex_);
  if (stage_ != Stage::waiting) return false;
  stage_ = Stage::taken;
  work.forget.insert(work.forget.end(), forget_.begin(), forget_.end());
  forget_.clear();
  std::sort(work.forget.begin(), work.forget.end());
  work.forget.erase(std::unique(work.forget.begin(), work.forget.end()), work.forget.end());
  return true;
}

void Api::settled() {
  const std::lock_guard lock(mutex_);
  if (stage_ != Stage::taken) return;
  stage_ = Stage::settled;
  changed_.notify_all();
}

void Api::close() {
  std::unique_lock lock(mutex_);
  stage_ = Stage::closed;
  changed_.notify_all();
  lock.unlock();
  const std::unique_lock ended(gate_->mutex);
  gate_->closed = true;
}

Response Api::cluster(const Request& request) const {
  const std::string id(*request.param("id"));
  std::optional<Cluster> cluster = parts_.activity.cluster(id);
  if (!cluster) {
    std::vector<Original> found;
    if (find([&](const Metadata& m) { return m.name() == id || m.event_id() == id; }, found) != Search::done)
      return busy();
    if (found.empty()) return http::error(404, "no original has this id or event_id");
    cluster = parts_.activity.cluster(found.front().seq);
    if (!cluster) {
      cluster.emplace();
      cluster->seq = found.front().seq;
      cluster->since_ms = parts_.activity.start_ms();
    }
    cluster->original = std::move(found.front().metadata);
  }
  bool live = false;
  const auto look = [&] {
    const Index& index = parts_.engine.index();
    live = cluster->seq >= index.lowest_live() && index.live(cluster->seq);
  };
  if (!parts_.mailbox.ask(look, kAnswerTime)) return busy();

  JsonWriter json;
  Metadata original;
  if (decode_metadata(cluster->original, original).ok()) json.text("cluster_id", original.event_id());
  write_original(json, "original", cluster->original);
  json.boolean("live", live);
  json.open("duplicates", '{');
  json.number("exact", cluster->exact);
  json.number("near", cluster->near);
  json.close();
  const bool any = cluster->exact + cluster->near > 0;
  for (const auto& [key, ms] : {std::pair("first", cluster->first_ms), std::pair("last", cluster->last_ms)}) {
    if (any) {
      json.text(key, format_time(ms));
    } else {
      json.null(key);
    }
  }
  json.text("counted_since", format_time(cluster->since_ms));
  json.open("members", '[');
  for (const Copy* copy : cluster->last()) {
    json.open("", '{');
    json.text("kind", kind_name(copy->kind));
    write_similarity(json, copy->similarity_ppm, copy->estimated);
    json.text("at", format_time(copy->at_ms));
    write_original(json, "document", copy->document);
    json.close();
  }
  json.close();
  return {.body = json.finish()};
}

Response Api::snapshot() const {
  if (!parts_.checkpoint) return http::error(403, "this daemon keeps nothing (dry_run)");
  absl::Status status;
  const auto begin = std::chrono::steady_clock::now();
  if (!parts_.mailbox.ask([&] { status = parts_.checkpoint(); }, kSnapshotTime)) return busy();
  if (!status.ok()) {
    log::error("a snapshot by request failed", {{"error", std_sv(status.message())}});
    return http::error(500, "the snapshot failed; the log says why");
  }
  JsonWriter json;
  json.text("at", format_time(std::chrono::duration_cast<milliseconds>(
                                  std::chrono::system_clock::now().time_since_epoch())
                                  .count()));
  json.number("milliseconds",
              std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin).count());
  return {.body = json.finish()};
}

}  // namespace doppel
