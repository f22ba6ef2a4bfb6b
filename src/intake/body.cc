#include "intake/body.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "files/byte_stream.h"
#include "files/read/content.h"
#include "files/read/line_reader.h"
#include "files/read/value_reader.h"
#include "files/record_reader.h"
#include "files/warc/warc_reader.h"
#include "formats/body.h"
#include "formats/presets.h"
#include "pipeline/buffers.h"
#include "session/same_document.h"

namespace doppel {
namespace {

using http::Request;
using http::Response;

constexpr std::string_view kTypes =
    "application/json, application/x-ndjson, text/plain, text/html, application/warc";

enum class BodyKind { json, lines, text, warc };

std::optional<BodyKind> kind_of(std::string_view content_type) {
  const std::string_view type = media_type(content_type);
  for (const std::string_view lines :
       {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}) {
    if (http::same_word(type, lines)) return BodyKind::lines;
  }
  if (http::same_word(type, "application/json")) return BodyKind::json;
  const SentAs sent = sent_as(content_type);
  if (sent == SentAs::unknown) return std::nullopt;
  return sent == SentAs::warc ? BodyKind::warc : BodyKind::text;
}

Response wrong_type(std::string_view message) {
  Response out = http::error(415, message);
  out.headers.emplace_back("Accept-Post", kTypes);
  return out;
}

// Reads the whole body as a file of this kind would be read.
void read_as_file(std::string_view body, BodyKind kind, Batch& batch) {
  FilesSourceOptions options;
  options.batch_records = kInsertedMost + 1;
  options.batch_bytes = std::numeric_limits<size_t>::max();
  options.max_line_bytes = options.max_whole_bytes = body.size();  // a record that says more is damaged
  InputFile file;
  file.path = "the body";
  file.kind = kind == BodyKind::json    ? InputKind::values
              : kind == BodyKind::lines ? InputKind::lines
                                        : InputKind::warc;
  file.size = body.size();
  file.head = body;  // the bytes come from here, and the file itself is empty
  Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Filling filling(body.size() + 64);
  const auto counter = std::make_shared<std::atomic<uint64_t>>(0);
  std::unique_ptr<RecordReader> reader;
  if (kind == BodyKind::json) {
    reader = std::make_unique<ValueReader>(options, filling, file, std::move(nothing), counter, LineMark());
  } else if (kind == BodyKind::lines) {
    reader = std::make_unique<LineReader>(options, filling, file, std::move(nothing), counter, LineMark());
  } else {
    reader = std::make_unique<WarcReader>(options, filling, file, std::move(nothing), counter, LineMark());
  }
  while (reader->take(batch) == RecordReader::State::waiting) continue;
}

// One text or page.
void take_whole(std::string_view body, std::string_view content_type, Batch& batch) {
  const auto bytes = std::make_shared<std::string>();
  bytes->reserve(body.size() + content_type.size() + kRecordPadding);
  bytes->append(body).append(content_type).append(kRecordPadding, '\0');
  Record& record = batch.records.emplace_back();
  record.value = std::string_view(*bytes).substr(0, body.size());
  record.media_type = std::string_view(*bytes).substr(body.size(), content_type.size());
  record.whole_file = true;
  batch.bytes += body.size();
  batch.memory.push_back(bytes);
}

}  // namespace

bool is_lines(std::string_view content_type) { return kind_of(content_type) == BodyKind::lines; }

bool is_json(std::string_view content_type) {
  return is_lines(content_type) || kind_of(content_type) == BodyKind::json;
}

bool is_from_a_page(const Request& request) {
  const std::optional<std::string_view> origin = request.header("origin");
  if (!origin) return false;
  const std::string_view host = request.header("host").value_or("");
  return *origin != fmt::format("http://{}", host) && *origin != fmt::format("https://{}", host);
}

std::string rejected_line(uint64_t line, std::string_view reason, int status) {
  std::string out = fmt::format("{{\"line\":{},\"error\":{{\"status\":{},\"message\":", line, status);
  append_json_string(out, reason);
  return out += "}}";
}

std::optional<Response> read_body(const Request& request, const FormatOptions& format,
                                  std::optional<std::string_view> id, Batch& batch) {
  const std::string_view content_type = request.header("content-type").value_or("");
  const std::optional<BodyKind> kind = kind_of(content_type);
  if (!kind) {
    return wrong_type(fmt::format("name the type of the documents in Content-Type ({}): it is \"{}\"", kTypes,
                                  content_type));
  }
  if (*kind == BodyKind::json || *kind == BodyKind::lines) {
    const bool readable = format.format == "auto" ||
                          (preset_of(format.format).reads_json && !preset_of(format.format).has_schema);
    if (!readable)
      return wrong_type(fmt::format("input.format is {}, and such documents are not JSON", format.format));
  }
  struct Named {
    std::string id, url;
    Sender sender;
  };
  const auto named = std::make_shared<Named>();
  if (id) named->id = *id;
  for (const auto& [name, value] : request.query) {
    if (name == "durability") continue;
    std::string* const to = name == "id" && !id ? &named->id : name == "url" ? &named->url : nullptr;
    if (to == nullptr) {
      return http::error(
          400, fmt::format("the query has \"{}\", and knows {}url and durability", name, id ? "" : "id, "));
    }
    if (value.empty()) return http::error(400, fmt::format("the {} in the query is empty", name));
    *to = value;
  }
  if (request.body.empty()) {
    return request.header("content-length") || request.header("transfer-encoding")
               ? http::error(400, "the body is empty: send the documents in it")
               : http::error(411, "there is no body: send the documents in it, with their Content-Length");
  }

  if (*kind == BodyKind::warc && packing_in(request.body) != Packing::none)
    return wrong_type("the WARC file is compressed; send it with Content-Encoding: gzip (or zstd) instead");
  if (*kind == BodyKind::text) {
    take_whole(request.body, content_type, batch);
  } else {
    read_as_file(request.body, *kind, batch);
  }
  if (!batch.problems.empty()) return http::error(400, batch.problems.front().message);
  const size_t count = batch.records.size();
  if (count == 0) return http::error(400, "there is no document in the body");
  if (count > kInsertedMost) {
    return http::error(413, fmt::format("the body has more than {} documents, and they are inserted "
                                        "together; send them in several requests",
                                        kInsertedMost));
  }
  if (*kind == BodyKind::json && count > 1) {
    return http::error(400, fmt::format("the body has {} JSON values, and application/json is one document; "
                                        "send several as application/x-ndjson, one in a line",
                                        count));
  }
  if (count > 1 && (!named->id.empty() || !named->url.empty()))
    return http::error(400,
                       fmt::format("an id or a URL was given for one document, and the body has {}", count));
  named->sender = {named->id, named->url};
  for (size_t i = 0; i < count; ++i) {
    Record& record = batch.records[i];
    record.source = kHttpSource;
    record.sender = &named->sender;
    if (*kind != BodyKind::lines) record.line = i + 1;
  }
  batch.memory.push_back(named);
  return std::nullopt;
}

void route_inserts(http::Server& server, http::Access access, const Insert& insert) {
  server.route_later(
      "POST", "/v1/documents",
      [insert](const Request& request, http::Reply reply) {
        insert(request, std::nullopt, std::move(reply));
      },
      access);
  server.route_later(
      "PUT", "/v1/documents/{id}",
      [insert](const Request& request, http::Reply reply) {
        insert(request, request.param("id"), std::move(reply));
      },
      access);
}

Response answer_of(std::span<const std::string> lines, size_t rejected) {
  Response out{.content_type = "application/x-ndjson"};
  for (const std::string& line : lines) out.body.append(line).append("\n");
  out.headers.emplace_back("Doppel-Rejected", std::to_string(rejected));
  return out;
}

}  // namespace doppel
