#include "formats/json/json_decoder.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "base/strings.h"

namespace doppel {
namespace {

using sv = std::string_view;

constexpr sv kSpace = " \t\r";

// Removes the next column from `line` and returns it.
sv column(sv& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  const sv out = line.substr(0, line.find_first_of(kSpace));
  line.remove_prefix(out.size());
  return out;
}

void member(std::string& out, sv name, sv value) {
  if (value.empty() || value == "-") return;
  if (out.back() != '{') out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
}

// Adds the position of the record, taken from the object at the end of the line.
void add_place(std::string& out, sv object) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::padded_string json(object);
  if (parser.parse(json).get(root) != simdjson::SUCCESS) return;
  sv filename;
  uint64_t offset = 0;
  if (root["warcFilename"].get(filename) != simdjson::SUCCESS ||
      (root["warcFileOffset"].get(offset) != simdjson::SUCCESS &&
       root["warcOffset"].get(offset) != simdjson::SUCCESS))
    return;
  member(out, "warc_filename", filename);
  out += ",\"warc_offset\":" + std::to_string(offset);
}

class CrawlLogDecoder final : public Decoder {
 public:
  explicit CrawlLogDecoder(std::unique_ptr<Decoder> messages) : messages_(std::move(messages)) {}

  absl::Status decode(const Record& record, Document& out) override {
    const size_t first = record.value.find_first_not_of(kSpace);
    if (first == sv::npos || record.value[first] == '{') return messages_->decode(record, out);
    message_ = crawl_log_message(record.value);
    if (message_.empty()) return invalid("neither a message of a crawl log nor a line of crawl.log");
    message_.reserve(message_.size() + kRecordPadding);
    Record message = record;
    message.value = message_;
    return messages_->decode(message, out);
  }

 private:
  std::unique_ptr<Decoder> messages_;
  std::string message_;
};

}  // namespace

std::string crawl_log_message(sv line) {
  enum { kTime, kStatus, kSize, kUrl, kPath, kVia, kType, kWorker, kStarted, kDigest, kColumns };
  std::array<sv, kColumns> columns;
  for (sv& field : columns) field = column(line);
  const auto is_number = [](sv text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (columns[kDigest].empty() || !is_number(columns[kStatus]) || !parse_time(columns[kTime])) return {};
  std::string out = "{";
  member(out, "url", columns[kUrl]);
  member(out, "status_code", columns[kStatus]);
  member(out, "mimetype", columns[kType]);
  member(out, "content_digest", columns[kDigest]);
  member(out, "start_time_plus_duration", columns[kStarted]);
  member(out, "timestamp", columns[kTime]);
  if (const size_t object = line.find(" {"); object != sv::npos) add_place(out, line.substr(object + 1));
  return out + "}";
}

std::unique_ptr<Decoder> make_crawl_log_decoder(std::unique_ptr<Decoder> messages) {
  return std::make_unique<CrawlLogDecoder>(std::move(messages));
}

}  // namespace doppel
