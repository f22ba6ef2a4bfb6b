#include "status/api.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "records/events.h"
#include "records/metadata.h"
#include "status/api_json.h"

namespace doppel {
namespace {

using http::Request;
using http::Response;
using std::chrono::milliseconds;

constexpr milliseconds kSnapshotTime{60'000};
constexpr Seq kSlice = 100'000;  // most originals for each question to the pipeline's thread

Response try_again(int status, std::string_view message) { return http::try_again(status, message, 5); }

}  // namespace

Response Api::busy() {
  return try_again(503, "the stream is busy or restoring, or other requests wait; try again");
}

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
  add("GET", "/v1/digests/{digest}", [this](const Request& r) { return digest(r); }, Access::open);
  add("GET", "/api/records/{digest}", [this](const Request& r) { return zeno_record(r); }, Access::open);
  add("GET", "/cdx", [this](const Request& r) { return cdx(r); }, Access::open);
  add("DELETE", "/v1/documents/{id}", [this](const Request& r) { return forget_id(r); }, Access::token);
  add("DELETE", "/v1/documents", [this](const Request& r) { return forget_tag(r); }, Access::token);
  add("GET", "/v1/clusters/{id}", [this](const Request& r) { return cluster(r); }, Access::open);
  add("POST", "/v1/snapshot", [this](const Request&) { return snapshot(); }, Access::token);
}

Response Api::forget_id(const Request& request) {
  return forget("any_id=" + std::string(*request.param("id")));
}

Response Api::forget_tag(const Request& request) {
  if (request.query.size() != 1 || request.query.front().first.empty() ||
      request.query.front().second.empty())
    return http::error(400, "name one tag and its value, such as ?crawl=ID");
  return forget("tag=" + request.query.front().first + "=" + request.query.front().second);
}

// Searches the newest originals first. The pipeline's thread copies the places of bodies piece by piece; this
// thread reads the bodies. Without a configured token anyone may search, so a search is short and only one
// runs at a time.
std::optional<Response> Api::find(const Request& request, const OriginalsWanted& wanted,
                                  std::vector<Original>& out) const {
  if (request.token == Request::Token::missing)
    return http::token_needed(
        "the lookup of an id reads the names of all originals: a bearer token is needed");
  const bool open = request.token == Request::Token::none_configured;
  const OneAtATime::Lock one(searching_, open ? milliseconds(0) : kAnswerTime);
  if (!one.owns())
    return try_again(429, "another id is being looked up, and lookups run one at a time; try again");
  const milliseconds time = open ? parts_.open_search : parts_.token_search;
  const auto deadline = std::chrono::steady_clock::now() + time;
  const KeptOriginals& index = parts_.originals;
  std::optional<Seq> end;
  Seq begun = 0, lowest = 0;
  std::vector<std::pair<Seq, BodyRef>> piece;
  std::string buffer;
  do {
    piece.clear();
    const auto copy = [&] {
      if (!end) end = begun = index.next_seq();
      lowest = index.lowest_live();
      Seq seq = *end;
      for (Seq n = 0; n < kSlice && seq > lowest; ++n) {
        --seq;
        if (const std::optional<BodyRef> body = index.body(seq)) piece.emplace_back(seq, *body);
      }
      end = seq;
    };
    if (!parts_.mailbox.ask(copy, kAnswerTime)) return busy();
    for (const auto& [seq, ref] : piece) {
      if (std::chrono::steady_clock::now() > deadline) {
        return try_again(503,
                         fmt::format("the lookup ended after {2} s, when it had read the names of the newest "
                                     "{0} of {1} originals{3}",
                                     begun - seq, begun - lowest, std::chrono::duration<double>(time).count(),
                                     open ? "; with a token (http.token_file) it may take longer" : ""));
      }
      const auto body = parts_.bodies.read(ref, buffer);
      Metadata m;
      if (!body.ok() || !decode_metadata(body->metadata, m).ok() || !wanted.fits(m)) continue;
      out.push_back({.seq = seq});
      if (out.size() <= kShownMost) out.back().metadata = body->metadata;
    }
  } while (*end > lowest);
  return std::nullopt;
}

Response Api::document(const Request& request) const {
  std::vector<Original> found;
  if (auto refused = find(request, OriginalsWanted::any_id(*request.param("id")), found))
    return *std::move(refused);
  if (found.empty()) return http::error(404, "no original has this id or event_id");
  JsonWriter json;
  json.number("count", found.size());
  write_originals(json, found, [](const Original& original) { return original.metadata; });
  return {.body = json.finish()};
}

Response Api::forget(const std::string& what) {
  if (parts_.forgetting == nullptr) return http::error(403, parts_.forgets_not);
  absl::StatusOr<OriginalsWanted> wanted = OriginalsWanted::parse(what);
  if (!wanted.ok()) return http::error(400, std_sv(wanted.status().message()));
  const Forgetting::Ticket ticket =
      parts_.forgetting->ask({.wanted = *std::move(wanted), .shown_most = kShownMost});
  if (ticket == nullptr) return busy();
  const Forgetting::Progress progress = parts_.forgetting->await(ticket, parts_.forget);
  if (progress.stage == Forgetting::Stage::closed) return busy();
  JsonWriter json;
  if (progress.stage != Forgetting::Stage::done) {
    const bool removing = progress.stage == Forgetting::Stage::removing;
    json.boolean("complete", false);
    json.number("forgotten", progress.removed);
    json.number("searched", progress.searched);
    json.number("to_search", progress.to_search);
    if (removing) {
      json.number("found", progress.found);
    } else {
      json.null("found");
    }
    return {.status = 202, .body = json.finish()};
  }
  if (progress.found == 0) return http::error(404, "no original matches");
  json.number("forgotten", progress.found);
  write_originals(json, progress.shown, [](const std::string& metadata) { return metadata; });
  return {.body = json.finish()};
}

void Api::close() {
  if (parts_.forgetting != nullptr) parts_.forgetting->close();
  const std::unique_lock ended(gate_->mutex);
  gate_->closed = true;
}

Response Api::cluster(const Request& request) const {
  const std::string id(*request.param("id"));
  std::optional<Cluster> cluster = parts_.activity.cluster(id);
  if (!cluster) {
    std::vector<Original> found;
    if (auto refused = find(request, OriginalsWanted::any_id(id), found)) return *std::move(refused);
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
    live = cluster->seq >= parts_.originals.lowest_live() && parts_.originals.live(cluster->seq);
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
