// What crawlers ask before they store a response once more: GET /v1/digests/SHA1.

#include <string>

#include "base/status.h"
#include "formats/warc/warc.h"
#include "insight/json_writer.h"
#include "status/api.h"
#include "status/api_json.h"

namespace doppel {
namespace {

using http::Request;
using http::Response;

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

}  // namespace doppel
