#include "files/warc/captures.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/strings.h"
#include "files/output_file.h"
#include "formats/body.h"
#include "formats/bytes/http.h"
#include "formats/warc/cdxj.h"
#include "formats/warc/warc.h"
#include "records/revisits.h"

namespace doppel {
namespace {

bool is_capture(WarcType type) {
  return type == WarcType::response || type == WarcType::resource || type == WarcType::revisit;
}

void member(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (out.back() != '{') out += ", ";
  append_json_string(out, name);
  out += ": ";
  append_json_string(out, value);
}

// A column of classic CDX.
std::string column(std::string_view value) {
  return value.empty() || value.find_first_of(" \r\n\t") != std::string_view::npos ? "-" : std::string(value);
}

// Begins a line with all but length, offset, file name, and record id. Empty if the record is not a capture.
std::string begin_line(const WarcRecord& record, const RecordRest* rest, IndexForm form) {
  const std::string time = cdxj_time(record.date);
  if (!is_capture(record.type) || record.target_uri.empty() || time.empty()) return {};
  const std::string key = surt(record.target_uri);
  if (key.find_first_of(" \r\n\t") != std::string::npos) return {};
  std::string_view type = record.content_type;
  std::string status;
  if (equal_ignoring_case(media_type(type), "application/http")) {
    type = {};
    if (const absl::StatusOr<HttpResponse> http = parse_http_response(record.block); http.ok()) {
      type = http->content_type;
      status = fmt::format("{}", http->status);
    }
  }
  type = record.type == WarcType::revisit ? "warc/revisit" : media_type(type);
  if (form == IndexForm::cdx) {
    const bool named = !(record.type == WarcType::revisit ? record.refers_to : record.record_id).empty();
    std::string sha1 = named ? payload_digest_of(record, rest) : "";
    sha1.erase(0, sha1.find(':') + 1);
    return fmt::format("{} {} {} {} {} {} - -", key, time, column(record.target_uri), column(type),
                       column(status), column(sha1));
  }
  std::string out = fmt::format("{} {} {{", key, time);
  member(out, "url", record.target_uri);
  member(out, "mime", type);
  member(out, "status", status);
  // The digest as the record states it, of any algorithm, because a crawler's revisit records repeat it.
  std::string digest(record.payload_digest);
  if (digest.empty()) digest = payload_digest_of(record, rest);
  member(out, "digest", digest);
  return out;
}

}  // namespace

// Ties the record to the one before, if one is the request of the other.
void CdxjOutput::join(const WarcRecord& record, std::string_view head) {
  const bool request = record.type == WarcType::request;
  if (!request && record.type != WarcType::response && record.type != WarcType::revisit) {
    before_.reset();
    return;
  }
  Exchange now{.request = request,
               .id = std::string(record.record_id),
               .uri = std::string(record.target_uri),
               .concurrent_to = {},
               .query = request ? post_query_of(record) : std::nullopt};
  if (const std::vector<std::string_view> ids = concurrent_to(head); !ids.empty())
    now.concurrent_to = ids.back();
  const bool pair =
      before_ && before_->request != request && before_->uri == now.uri && now.concurrent_to == before_->id;
  if (pair) sent_ = request ? now.query : before_->query;
  // A record belongs to one exchange.
  if (pair) {
    before_.reset();
  } else {
    before_ = std::move(now);
  }
}

void CdxjOutput::end_last(uint64_t end) {
  const std::optional<PostQuery> sent = std::exchange(sent_, std::nullopt);
  if (!open_) return;
  open_ = false;
  std::string& line = lines_.back();
  if (sent) {
    const std::string key = surt(sent->url(answered_uri_));
    if (key.find_first_of(" \r\n\t") == std::string::npos) line.replace(0, line.find(' '), key);
  }
  if (form_ == IndexForm::cdx) {
    line += fmt::format(" {} {} {} {}", end > offset_ ? fmt::format("{}", end - offset_) : "-", offset_,
                        column(filename_), record_id_.empty() ? "-" : "<" + column(record_id_) + ">");
    return;
  }
  if (end > offset_) member(line, "length", fmt::format("{}", end - offset_));
  member(line, "offset", fmt::format("{}", offset_));
  member(line, "filename", filename_);
  if (sent) {
    member(line, "requestBody", sent->query);
    member(line, "method", sent->method);
  }
  line += '}';
}

void CdxjOutput::add(const Batch& batch) {
  for (const Record& record : batch.records) {
    if (!record.warc) continue;
    if (!record.warc_offset) {
      // Its offset is unknown.
      const absl::StatusOr<WarcRecord> head = parse_warc_record(record.value);
      if (!head.ok() || !is_capture(head->type)) continue;
      if (without_line_++ == 0) first_without_line_ = record.source;
      continue;
    }
    if (record.source != source_) {
      end_last(sizes_[source_]);
      source_ = record.source;
      filename_ = source_.substr(source_.rfind('/') + 1);
      before_.reset();
    }
    const absl::StatusOr<WarcRecord> head = parse_warc_record(record.value);
    if (!head.ok()) {
      end_last(*record.warc_offset);
      before_.reset();
      continue;
    }
    // A request may belong to the line that is still open, or to the next one.
    if (head->type != WarcType::request) end_last(*record.warc_offset);
    join(*head, record.value.substr(0, head->head_bytes));
    if (head->type == WarcType::request) {
      end_last(*record.warc_offset);
      continue;
    }
    std::string line = begin_line(*head, record.rest.get(), form_);
    if (line.empty()) {
      sent_.reset();
      if (is_capture(head->type) && without_key_++ == 0) first_without_key_ = head->target_uri;
      continue;
    }
    answered_uri_ = head->target_uri;
    record_id_ = head->type == WarcType::revisit ? head->refers_to : head->record_id;
    lines_.push_back(std::move(line));
    offset_ = *record.warc_offset;
    open_ = true;
  }
}

absl::Status CdxjOutput::add_all(Source& source, const std::function<bool()>& stop) {
  for (Batch batch;;) {
    ASSIGN_OR_RETURN(const bool more, source.next(batch));
    if (!more || stop()) return absl::OkStatus();
    add(batch);
  }
}

absl::Status CdxjOutput::write(const std::string& path) {
  end_last(sizes_[source_]);
  std::sort(lines_.begin(), lines_.end());
  ASSIGN_OR_RETURN(const std::unique_ptr<WholeOutput> out, WholeOutput::open(path));
  std::string bytes = form_ == IndexForm::cdx ? " CDX N b a m s k r M S V g u\n" : "";
  for (const std::string& line : lines_) {
    bytes.append(line).append("\n");
    if (bytes.size() < (1 << 20)) continue;
    RETURN_IF_ERROR(out->append(bytes));
    bytes.clear();
  }
  if (!bytes.empty()) RETURN_IF_ERROR(out->append(bytes));
  return out->finish();
}

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

std::string type_of_record(const WarcRecord& record) {
  std::string_view type = record.content_type;
  if (equal_ignoring_case(media_type(type), "application/http")) {
    const absl::StatusOr<HttpResponse> http = parse_http_response(record.block);
    type = http.ok() ? http->content_type : std::string_view();
  }
  return type_of(type);
}

}  // namespace

std::string site_of(std::string_view uri) {
  const size_t colon = uri.find("://");
  if (colon == std::string_view::npos) return lower(uri.substr(0, uri.find(':') + 1));
  std::string_view host = uri.substr(colon + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  host.remove_prefix(host.rfind('@') == std::string_view::npos ? 0 : host.rfind('@') + 1);
  return lower(host);
}

std::string type_of(std::string_view content_type) {
  const std::string out = lower(media_type(content_type));
  return out.empty() ? "unknown" : out;
}

// The size of the revisit record that could replace the copy; nullopt where rewriting keeps it.
std::optional<uint64_t> ArchiveTally::revisit_bytes(const Record& record, const WarcRecord& copy,
                                                    const std::string& digest) {
  const std::optional<size_t> begin = payload_begin(copy);
  if (arc_ || copy.type != WarcType::response || !copy.truncated.empty() || !begin || *begin == 0)
    return std::nullopt;
  const absl::StatusOr<std::string> revisit =
      revisit_of_record(record.value.substr(0, copy.head_bytes), copy.block.substr(0, *begin), copy, digest);
  if (!revisit.ok()) return std::nullopt;
  if (packer_ == nullptr) return revisit->size();
  std::string packed;
  if (!packer_->pack(*revisit, packed).ok()) return std::nullopt;
  return packed.size();
}

void ArchiveTally::begin(const InputFile& file) {
  packer_ = make_packer(file.packing);
  arc_ = file.kind == InputKind::arc;
  size_ = file.size;
  stored_bytes_ += file.size;
}

void ArchiveTally::end() { settle(size_); }

// Counts what the open copy saves. `next` is where the next record begins; nullopt: in the member of the
// copy, which therefore stays.
void ArchiveTally::settle(std::optional<uint64_t> next) {
  const std::optional<Open> copy = std::exchange(open_, std::nullopt);
  if (!copy || !next || *next <= copy->begin + copy->revisit_bytes) return;
  for (Tally* to : copy->tallies) to->saved += *next - copy->begin - copy->revisit_bytes;
}

void ArchiveTally::add(const Record& record) {
  settle(record.warc_offset);
  const absl::StatusOr<WarcRecord> warc = parse_warc_record(record.value);
  if (!warc.ok()) return;
  const bool is_revisit = warc->type == WarcType::revisit;
  std::optional<uint64_t> revisit;
  if (!is_revisit && warc->type != WarcType::response && warc->type != WarcType::resource) return;
  Tally one;
  if (is_revisit) {
    one.revisits = 1;
  } else {
    one.captures = 1;
    one.bytes =
        warc->content_length - std::min<uint64_t>(payload_begin(*warc).value_or(0), warc->content_length);
    const std::string digest = payload_digest_of(*warc, record.rest.get());
    const uint64_t payload = XXH3_64bits(digest.data(), digest.size());
    const std::string capture = fmt::format("{} {} {}", warc->target_uri, cdxj_time(warc->date), digest);
    const bool compared = !digest.empty() && one.bytes != 0;
    if (compared && !captures_.insert(XXH3_64bits(capture.data(), capture.size())).second) {
      one.again = 1;
      one.again_bytes = one.bytes;
    } else if (compared && !payloads_.insert(payload).second) {
      one.copies = 1;
      one.copied_bytes = one.bytes;
      revisit = revisit_bytes(record, *warc, digest);
    }
  }
  const std::string year(warc->date.substr(0, 4));
  Tally* const tallies[] = {&all_, &hosts_[site_of(warc->target_uri)],
                            &types_[is_revisit ? "warc/revisit" : type_of_record(*warc)],
                            &years_[year.empty() ? "unknown" : year]};
  if (revisit && record.warc_offset) {
    open_ = {.begin = *record.warc_offset, .revisit_bytes = *revisit};
    std::ranges::copy(tallies, open_->tallies);
  }
  for (Tally* to : tallies) {
    to->captures += one.captures;
    to->bytes += one.bytes;
    to->copies += one.copies;
    to->copied_bytes += one.copied_bytes;
    to->again += one.again;
    to->again_bytes += one.again_bytes;
    to->revisits += one.revisits;
  }
}

}  // namespace doppel
