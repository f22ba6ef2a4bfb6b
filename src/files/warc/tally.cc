#include "files/warc/tally.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>

#include "formats/body.h"
#include "formats/bytes/http.h"
#include "formats/warc/payload_digest.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

std::string host_of(std::string_view uri) {
  const size_t colon = uri.find("://");
  if (colon == std::string_view::npos) return lower(uri.substr(0, uri.find(':') + 1));
  std::string_view host = uri.substr(colon + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  host.remove_prefix(host.rfind('@') == std::string_view::npos ? 0 : host.rfind('@') + 1);
  return lower(host);
}

std::string type_of(const WarcRecord& record) {
  std::string_view type = record.content_type;
  if (equal_ignoring_case(media_type(type), "application/http")) {
    const absl::StatusOr<HttpResponse> http = parse_http_response(record.block);
    type = http.ok() ? http->content_type : std::string_view();
  }
  const std::string out = lower(media_type(type));
  return out.empty() ? "unknown" : out;
}

}  // namespace

void ArchiveTally::add(const Record& record) {
  const absl::StatusOr<WarcRecord> warc = parse_warc_record(record.value);
  if (!warc.ok()) return;
  const bool revisit = warc->type == WarcType::revisit;
  if (!revisit && warc->type != WarcType::response && warc->type != WarcType::resource) return;
  Tally one;
  if (revisit) {
    one.revisits = 1;
  } else {
    one.captures = 1;
    one.bytes =
        warc->content_length - std::min<uint64_t>(payload_begin(*warc).value_or(0), warc->content_length);
    const std::string digest = payload_digest_of(*warc, record.rest.get());
    if (!digest.empty() && one.bytes != 0 &&
        !payloads_.insert(XXH3_64bits(digest.data(), digest.size())).second) {
      one.copies = 1;
      one.copied_bytes = one.bytes;
    }
  }
  const std::string year(warc->date.substr(0, 4));
  for (Tally* to :
       {&all_, &hosts_[host_of(warc->target_uri)], &types_[revisit ? "warc/revisit" : type_of(*warc)],
        &years_[year.empty() ? "unknown" : year]}) {
    to->captures += one.captures;
    to->bytes += one.bytes;
    to->copies += one.copies;
    to->copied_bytes += one.copied_bytes;
    to->revisits += one.revisits;
  }
}

}  // namespace doppel
