// POST /v1/check: what documents would be, if they came now. Nothing is inserted.

#include <algorithm>
#include <tuple>

#include "base/status.h"
#include "formats/body.h"
#include "insight/json_writer.h"
#include "intake/body.h"
#include "records/events.h"
#include "session/same_document.h"
#include "session/stages.h"
#include "status/api.h"
#include "status/api_json.h"

namespace doppel {
namespace {

using http::Request;
using http::Response;

constexpr size_t kCheckedMost = 10'000;  // documents of a request
constexpr size_t kAtOnce = 32;           // for which the stream waits

// A candidate of a checked document.
struct Match {
  Seq seq = 0;
  uint32_t ppm = 0;
  bool exact = false, estimated = false;
  BodyRef body;
};

}  // namespace

struct Api::Checked {
  std::string answer;    // JSON
  std::string rejected;  // or why the document cannot be read
};

// Judges documents against the index as it is between two batches. Otherwise returns the response that says
// why not.
std::optional<Response> Api::judge(std::span<const Record> records, RecordSigner& signer,
                                   std::vector<Checked>& out) const {
  const EngineOptions& options = parts_.engine.options();
  Stages stages(parts_.engine, 1);
  Work work;
  stages.sign(work, records.size(), [&](int, size_t i, SignedDocument& document, uint8_t* slices) {
    signer.sign(records[i], document, slices);
  });
  for (SignedDocument& document : work.sign.documents) {
    if (document.content != Content::rejected) document.action = SignedDocument::Action::judge;
  }

  std::vector<Outcome> outcomes(records.size());
  std::vector<std::string> originals_of(records.size());
  std::vector<std::vector<Match>> matches_of(records.size());
  absl::Status status;
  const auto look = [&] {
    status = stages.query(work, outcomes);
    if (!status.ok()) return;
    const Originals& originals = parts_.engine.originals();
    for (size_t i = 0; i < records.size(); ++i) {
      originals_of[i] = outcomes[i].original;
      const auto add = [&](Match match) {
        const absl::StatusOr<BodyRef> body = originals.body(match.seq);
        status.Update(body.status());
        if (!body.ok()) return;
        match.body = *body;
        matches_of[i].push_back(match);
      };
      const Answer& answer = work.answers[i];
      if (answer.exact) add({.seq = *answer.exact, .ppm = 1'000'000, .exact = true});
      for (const Verified& candidate : answer.candidates) {
        if (!candidate.checked || candidate.seq == answer.exact) continue;
        add({.seq = candidate.seq,
             .ppm = similarity_ppm(candidate.overlap),
             .estimated = candidate.estimated});
      }
    }
  };
  if (!parts_.mailbox.ask(look, kAnswerTime)) return busy();
  if (!status.ok()) return http::error(500, "the index cannot be read; the log says why");

  std::string buffer;
  for (size_t i = 0; i < records.size(); ++i) {
    Checked& checked = out.emplace_back();
    const SignedDocument& document = work.sign.documents[i];
    if (document.content == Content::rejected) {
      checked.rejected = document.reason;
      continue;
    }
    Outcome& outcome = outcomes[i];
    outcome.original = originals_of[i];
    SameDocuments(outcome.seq + 1, parts_.engine.originals().first_own()).correct(outcome, document.metadata);
    std::vector<Match>& matches = matches_of[i];
    std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
      return std::tuple(!a.exact, b.ppm, a.seq) < std::tuple(!b.exact, a.ppm, b.seq);
    });
    JsonWriter json;
    if (options.own) json.text("shards", options.own->text());
    json.text("verdict", verdict_name(outcome.verdict));
    if (!document.reason.empty()) json.text("reason", document.reason);
    if (outcome.again) {
      json.boolean("again", true);
      write_original(json, "original", originals_of[i]);
    }
    if (outcome.verdict == Verdict::duplicate) {
      json.text("kind", kind_name(outcome.kind));
      write_similarity(json, similarity_ppm(outcome.similarity), outcome.estimated);
      write_original(json, "original", originals_of[i]);
    }
    write_relations(json, outcome, outcome.related.empty() ? "" : signer.find_bytes(records[i], outcome));
    json.open("matches", '[');
    for (size_t n = 0; n < std::min<size_t>(matches.size(), 10); ++n) {
      const auto body = parts_.bodies.read(matches[n].body, buffer);
      json.open("", '{');
      json.boolean("exact", matches[n].exact);
      write_similarity(json, matches[n].ppm, matches[n].estimated);
      write_original(json, "original", body.ok() ? body->metadata : std::string_view());
      json.close();
    }
    json.close();
    checked.answer = json.finish();
  }
  return std::nullopt;
}

Response Api::check(const Request& request) const {
  const EngineOptions& options = parts_.engine.options();
  if (options.elsewhere)
    return http::error(501, "the originals are in the matchers; ask each of them for its shards");
  if (request.body.empty())
    return http::error(400, "send the document as the body, in the form of the input");
  const std::string_view media_type = request.header("content-type").value_or("");
  if (is_lines(media_type)) return check_lines(request);
  std::string bytes(request.body);
  bytes.append(kRecordPadding, '\0');
  Record record;
  record.value = std::string_view(bytes).substr(0, request.body.size());
  record.source = kProgramSource;
  const FormatOptions format = before_signing(parts_.format);
  record.media_type = media_type;
  const SentAs sent = sent_as(record.media_type);
  record.warc = format.format == "warc" || sent == SentAs::warc;
  record.whole_file = !record.warc && sent == SentAs::text;

  RecordSigner signer(options.scheme, options.with_sets(), format, parts_.keys);
  std::vector<Checked> checked;
  if (auto refused = judge(std::span(&record, 1), signer, checked)) return *std::move(refused);
  if (!checked.front().rejected.empty())
    return http::error(422, "the document cannot be read: " + checked.front().rejected);
  return {.body = std::move(checked.front().answer)};
}

// One answer in a line for each document in a line.
Response Api::check_lines(const Request& request) const {
  const EngineOptions& options = parts_.engine.options();
  const FormatOptions format = before_signing(parts_.format);
  Batch batch;
  if (auto refused = read_body(request, format, std::nullopt, batch)) return *std::move(refused);
  const std::span<const Record> records(batch.records);
  if (records.size() > kCheckedMost) {
    return http::error(413, "the body has more than " + std::to_string(kCheckedMost) +
                                " documents; send them in several requests");
  }
  RecordSigner signer(options.scheme, options.with_sets(), format, parts_.keys);
  Response out{.content_type = "application/x-ndjson"};
  std::vector<Checked> checked;
  size_t rejected = 0;
  for (size_t begin = 0; begin < records.size(); begin += kAtOnce) {
    const std::span<const Record> part = records.subspan(begin, std::min(kAtOnce, records.size() - begin));
    checked.clear();
    if (auto refused = judge(part, signer, checked)) return *std::move(refused);
    for (size_t i = 0; i < part.size(); ++i) {
      if (checked[i].rejected.empty()) {
        out.body += checked[i].answer;
      } else {
        ++rejected;
        out.body += rejected_line(part[i].line, checked[i].rejected);
        out.body += '\n';
      }
    }
  }
  out.headers.emplace_back("Doppel-Rejected", std::to_string(rejected));
  return out;
}

}  // namespace doppel
