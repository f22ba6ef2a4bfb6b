#include "files/warc/cdxj_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.h"
#include "base/status.h"
#include "files/whole_output.h"
#include "formats/body.h"
#include "formats/bytes/http.h"
#include "formats/warc/payload_digest.h"
#include "formats/warc/surt.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

bool is_capture(WarcType type) {
  return type == WarcType::response || type == WarcType::resource || type == WarcType::revisit;
}

// "2024-05-06T07:08:09.123Z" -> "20240506070809"
std::string digits_of(std::string_view date) {
  std::string out;
  for (const char c : date) {
    if (c >= '0' && c <= '9' && out.size() < 14) out += c;
  }
  return out.size() == 14 ? out : std::string();
}

void member(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (out.back() != '{') out += ", ";
  append_json_string(out, name);
  out += ": ";
  append_json_string(out, value);
}

// Begins a line with all but length, offset and file name. Empty if the record is not a capture.
std::string begin_line(const WarcRecord& record, const RecordRest* rest) {
  const std::string time = digits_of(record.date);
  if (!is_capture(record.type) || record.target_uri.empty() || time.empty()) return {};
  const std::string key = surt(record.target_uri);
  if (key.find_first_of(" \r\n\t") != std::string::npos) return {};
  std::string out = fmt::format("{} {} {{", key, time);
  member(out, "url", record.target_uri);
  std::string_view type = record.content_type;
  std::string status;
  if (equal_ignoring_case(media_type(type), "application/http")) {
    type = {};
    if (const absl::StatusOr<HttpResponse> http = parse_http_response(record.block); http.ok()) {
      type = http->content_type;
      status = fmt::format("{}", http->status);
    }
  }
  member(out, "mime", record.type == WarcType::revisit ? "warc/revisit" : media_type(type));
  member(out, "status", status);
  // The digest as the record states it, of any algorithm, because a crawler's revisit records repeat it.
  std::string digest(record.payload_digest);
  if (digest.empty()) digest = payload_digest_of(record, rest);
  member(out, "digest", digest);
  return out;
}

}  // namespace

void CdxjOutput::end_last(uint64_t end) {
  if (!open_) return;
  open_ = false;
  std::string& line = lines_.back();
  if (end > offset_) member(line, "length", fmt::format("{}", end - offset_));
  member(line, "offset", fmt::format("{}", offset_));
  member(line, "filename", filename_);
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
    }
    end_last(*record.warc_offset);
    const absl::StatusOr<WarcRecord> head = parse_warc_record(record.value);
    if (!head.ok()) continue;
    std::string line = begin_line(*head, record.rest.get());
    if (line.empty()) {
      if (is_capture(head->type) && without_key_++ == 0) first_without_key_ = head->target_uri;
      continue;
    }
    lines_.push_back(std::move(line));
    offset_ = *record.warc_offset;
    open_ = true;
  }
}

absl::Status CdxjOutput::write(const std::string& path) {
  end_last(sizes_[source_]);
  std::sort(lines_.begin(), lines_.end());
  ASSIGN_OR_RETURN(const std::unique_ptr<WholeOutput> out, WholeOutput::open(path));
  std::string bytes;
  for (const std::string& line : lines_) {
    bytes.append(line).append("\n");
    if (bytes.size() < (1 << 20)) continue;
    RETURN_IF_ERROR(out->append(bytes));
    bytes.clear();
  }
  if (!bytes.empty()) RETURN_IF_ERROR(out->append(bytes));
  return out->finish();
}

}  // namespace doppel
