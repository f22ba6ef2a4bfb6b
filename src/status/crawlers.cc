// What crawlers ask before they store a response once more: GET /v1/digests/SHA1, and the same in the forms
// that Zeno, warcprox and Heritrix send.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/status.h"
#include "formats/decoder.h"
#include "formats/warc/cdxj.h"
#include "formats/warc/warc.h"
#include "insight/json_writer.h"
#include "records/metadata.h"
#include "status/api.h"
#include "status/api_json.h"

namespace doppel {
namespace {

using http::Request;
using http::Response;

// What CDX servers answer if the question names no fields. doppel keeps neither type, status nor length.
constexpr std::string_view kCdxFields = "urlkey,timestamp,original,mimetype,statuscode,digest,length";

// 20240506070809, as CDX files write it.
std::string fourteen_digits(int64_t ms) {
  std::string out = format_time(ms);
  std::erase_if(out, [](char c) { return c < '0' || c > '9'; });
  return out.substr(0, 14);
}

}  // namespace

// An original by its payload.
struct Api::Found {
  std::optional<Response> refused = std::nullopt;  // if there is none
  std::string sha1, metadata;
};

Api::Found Api::find_payload(const Request& request) const {
  const EngineOptions& options = parts_.engine.options();
  if (options.elsewhere)
    return {http::error(501, "the originals are in the matchers; ask each of them for its shards")};
  Found out{.sha1 = sha1_digest(*request.param("digest"))};
  if (out.sha1.empty()) {
    return {http::error(400,
                        "the digest must be a SHA-1, in Base32 or in hex digits; the prefix sha1: may be "
                        "missing. doppel knows payloads by no other digest")};
  }
  const Digest payload = Signer(options.scheme, options.with_sets()).payload(out.sha1, "");
  Answer answer;
  BodyRef at;
  absl::Status status;
  const auto look = [&] {
    const Originals& originals = parts_.engine.originals();
    status = originals.find_payload(payload, answer);
    if (!status.ok() || !answer.same_payload) return;
    const absl::StatusOr<BodyRef> body = originals.body(answer.same_payload->seq);
    status = body.status();
    if (body.ok()) at = *body;
  };
  if (!parts_.mailbox.ask(look, kAnswerTime)) return {busy()};
  if (status.ok() && !answer.same_payload) return {http::error(404, "no original has this payload")};
  std::string buffer;
  const auto body = status.ok() ? parts_.bodies.read(at, buffer) : absl::StatusOr<Body>(status);
  if (!body.ok()) return {http::error(500, "the index cannot be read; the log says why")};
  out.metadata = body->metadata;
  return out;
}

Response Api::digest(const Request& request) const {
  Found found = find_payload(request);
  if (found.refused) return *std::move(found.refused);
  JsonWriter json;
  json.text("digest", found.sha1);
  write_original(json, "original", found.metadata);
  return {.body = json.finish()};
}

// As Zeno asks its dedupe server (Doppelganger): GET /api/records/sha1:...?uri=...
Response Api::zeno_record(const Request& request) const {
  Found found = find_payload(request);
  if (found.refused) return *std::move(found.refused);
  Metadata m;
  if (!decode_metadata(found.metadata, m).ok() || m.url.empty() || !m.date_ms)
    return http::error(404,
                       "the original with this payload has no URL or no date, which a revisit record needs");
  JsonWriter json;
  json.text("id", m.name());
  json.text("uri", m.url);
  json.number("date", std::stoull(fourteen_digits(*m.date_ms)));
  return {.body = json.finish()};
}

// As warcprox asks a CDX server: GET /cdx?url=...&fl=timestamp,digest&filter=!mimetype:warc/revisit&limit=-1,
// and as Heritrix does: GET /cdx?url=...&limit=-1. Both ask for the last capture of a URL, and compare the
// digest themselves.
Response Api::cdx(const Request& request) const {
  std::string_view url, fields = kCdxFields;
  for (const auto& [name, value] : request.query) {
    if (name == "url") {
      url = value;
    } else if (name == "fl") {
      fields = value;
    } else if (name == "filter" && value != "!mimetype:warc/revisit") {
      return http::error(400, "filter is !mimetype:warc/revisit or is left out: the answer has no revisits");
    } else if (name == "limit" && value != "-1" && value != "1") {
      return http::error(400, "limit is -1 or is left out: the answer is the last capture");
    } else if (name != "filter" && name != "limit") {
      return http::error(400, "the query has \"" + name + "\", and knows url, fl, filter and limit");
    }
  }
  if (url.empty()) return http::error(400, "the query needs a url");
  const std::vector<absl::string_view> known = absl::StrSplit(absl_sv(kCdxFields), ',');
  const std::optional<Capture> last = parts_.captures.last(url);
  Response out{.content_type = "text/plain; charset=utf-8"};
  for (const absl::string_view name : absl::StrSplit(absl_sv(fields), ',')) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return http::error(400, "fl has a field other than " + std::string(kCdxFields));
    if (!last) continue;
    if (!out.body.empty()) out.body += ' ';
    if (name == "timestamp") {
      out.body += fourteen_digits(last->date_ms);
    } else if (name == "digest") {
      out.body.append(last->digest.begin(), last->digest.end());
    } else if (name == "original") {
      out.body += url;
    } else if (name == "urlkey") {
      out.body += surt(url);
    } else {
      out.body += '-';
    }
  }
  if (last) out.body += '\n';
  return out;
}

}  // namespace doppel
