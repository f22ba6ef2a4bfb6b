#include "records/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/check.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/decoder.h"
#include "formats/json/json_value.h"
#include "records/metadata.h"

namespace doppel {
namespace {

void member(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += name;
  out += "\":";
}

void text_member(std::string& out, std::string_view name, std::string_view value) {
  member(out, name);
  append_json_string(out, value);
}

void optional_text(std::string& out, std::string_view name, std::string_view value) {
  member(out, name);
  if (value.empty()) {
    out += "null";
  } else {
    append_json_string(out, value);
  }
}

void bool_member(std::string& out, std::string_view name, bool value) {
  member(out, name);
  out += value ? "true" : "false";
}

template <typename T>
void number_member(std::string& out, std::string_view name, T value) {
  member(out, name);
  out += std::to_string(value);
}

void warc_member(std::string& out, const WarcOrigin& warc) {
  member(out, "warc");
  out += '{';
  optional_text(out, "record_id", warc.record_id);
  optional_text(out, "target_uri", warc.target_uri);
  optional_text(out, "date", warc.date);
  optional_text(out, "filename", warc.filename);
  if (warc.offset) number_member(out, "offset", *warc.offset);
  if (!warc.payload_digest.empty()) text_member(out, "payload_digest", warc.payload_digest);
  out += '}';
}

void kafka_member(std::string& out, const Metadata& m) {
  member(out, "kafka");
  out += '{';
  text_member(out, "topic", m.source);
  if (m.incarnation > 1) number_member(out, "incarnation", m.incarnation);
  number_member(out, "partition", m.partition);
  number_member(out, "offset", m.offset);
  if (m.arrival_ms) {
    number_member(out, "timestamp", *m.arrival_ms);
  } else {
    member(out, "timestamp");
    out += "null";
  }
  out += '}';
}

void document_member(std::string& out, std::string_view name, const Metadata& m) {
  member(out, name);
  out += '{';
  text_member(out, "id", m.name());
  optional_text(out, "url", m.url);
  optional_text(out, "date", m.date_ms ? format_time(*m.date_ms) : "");
  optional_text(out, "digest", m.payload_digest);
  optional_text(out, "content_type", m.content_type);
  if (!m.text_source.empty()) text_member(out, "text_source", m.text_source);
  if (m.warc) warc_member(out, *m.warc);
  if (m.partition < 0) {
    text_member(out, "file", m.source);
    number_member(out, "offset", m.offset);
  } else {
    kafka_member(out, m);
  }
  out += '}';
}

// Document minus original: of the dates that both state, otherwise of their arrivals.
std::optional<int64_t> age_ms(const Metadata& document, const Metadata& original) {
  if (document.date_ms && original.date_ms) return *document.date_ms - *original.date_ms;
  if (document.arrival_ms && original.arrival_ms) return *document.arrival_ms - *original.arrival_ms;
  return std::nullopt;
}

// Ends each event of a document with the passed-through fields and the index.
void end_event(std::string& out, const EventContext& context, const Metadata& document) {
  if (!document.passthrough.empty()) {
    member(out, "fields");
    out += '{';
    out += document.passthrough;
    out += '}';
  }
  text_member(out, "scheme", context.scheme);
  optional_text(out, "epoch", context.epoch);
  out += '}';
}

}  // namespace

std::string_view kind_name(Kind kind) {
  return kind == Kind::exact ? "exact" : kind == Kind::contained ? "contained" : "near";
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::unique:
      return "unique";
    case Verdict::duplicate:
      return "duplicate";
    case Verdict::unscored:
      return "unscored";
    case Verdict::rejected:
      return "rejected";
    case Verdict::removal:
      return "removal";
    case Verdict::skipped:
      return "skipped";
  }
  return "?";
}

std::string host_of(std::string_view url) {
  size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  bool bracketed = !host.empty() && host.front() == '[';
  size_t end = bracketed ? host.find(']') : host.find(':');
  if (end != std::string_view::npos) host = host.substr(0, bracketed ? end + 1 : end);
  std::string out(host);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  return out;
}

namespace {

template <typename Ranges>
void ranges_member(std::string& out, std::string_view name, const Ranges& ranges) {
  member(out, name);
  out += '[';
  for (const auto& range : ranges) {
    if (out.back() != '[') out += ',';
    out += '[' + std::to_string(range.begin) + ',' + std::to_string(range.end) + ']';
  }
  out += ']';
}

// Shares count only shingles that are not common.
void append_related(std::string& out, const Outcome& outcome, bool whole) {
  if (outcome.related.empty()) return;
  member(out, "relations");
  out += '[';
  for (const Related& related : outcome.related) {
    if (out.back() != '[') out += ',';
    out += '{';
    text_member(out, "relation", relation_name(related.relation));
    Metadata original;
    if (decode_metadata(related.original, original).ok()) {
      if (!whole) text_member(out, "id", original.name());
      text_member(out, "cluster_id", original.event_id());
    }
    member(out, "of_document");
    append_json_ppm(out, similarity_ppm({related.shared, related.of_document}));
    member(out, "of_original");
    append_json_ppm(out, similarity_ppm({related.shared, related.of_original}));
    number_member(out, "shared", static_cast<int64_t>(related.shared));
    ranges_member(out, "passages", related.passages);
    if (!related.bytes.empty()) ranges_member(out, "bytes", related.bytes);
    if (whole) document_member(out, "original", original);
    out += '}';
  }
  out += ']';
  if (outcome.related_more != 0) number_member(out, "relations_more", outcome.related_more);
  if (!outcome.cut.empty()) ranges_member(out, "cut", outcome.cut);
}

void begin_event(std::string& out, std::string_view type) {
  out += '{';
  text_member(out, "type", type);
  member(out, "version");
  out += '1';
}

// On Kafka an event_id names one record for ever. A position in a file may occur twice, if the file is read
// twice or replaced.
void check_not_itself(const Metadata& document, const Metadata& original) {
  DOPPEL_CHECK(document.partition < 0 || document.partition != original.partition ||
                   document.offset != original.offset || document.source != original.source ||
                   document.incarnation != original.incarnation,
               "an original is not its own document", document.source, document.partition, document.offset);
}

}  // namespace

void append_duplicate_of(std::string& out, const EventContext& context, const Metadata& document,
                         const Metadata& original, const Outcome& outcome) {
  check_not_itself(document, original);
  begin_event(out, "duplicate-of");
  text_member(out, "event_id", document.event_id());
  text_member(out, "kind", kind_name(outcome.kind));
  member(out, "similarity");
  append_json_ppm(out, similarity_ppm(outcome.similarity));
  if (outcome.estimated) bool_member(out, "estimated", true);
  text_member(out, "cluster_id", original.event_id());
  document_member(out, "document", document);
  document_member(out, "original", original);
  member(out, "relation");
  out += '{';
  bool_member(out, "same_id", document.name() == original.name());
  bool_member(out, "same_url", !document.url.empty() && document.url == original.url);
  std::string host = host_of(document.url);
  bool_member(out, "same_host", !host.empty() && host == host_of(original.url));
  if (outcome.same_payload) bool_member(out, "same_payload", true);
  member(out, "age_seconds");
  const std::optional<int64_t> age = age_ms(document, original);
  out += age ? std::to_string(*age / 1000) : "null";
  out += '}';
  end_event(out, context, document);
}

void append_partial_copy_of(std::string& out, const EventContext& context, const Metadata& document,
                            const Outcome& outcome) {
  begin_event(out, "partial-copy-of");
  text_member(out, "event_id", document.event_id());
  document_member(out, "document", document);
  append_related(out, outcome, true);
  end_event(out, context, document);
}

absl::Status append_better_copy(std::string& out, const EventContext& context, const Metadata& document,
                                const Metadata& original, const BetterCopy& better) {
  ShownCopy now, before;
  RETURN_IF_ERROR(decode_shown(better.copy, now));
  std::optional<double> value;
  const std::string event_id = original.event_id(), id = original.name();
  if (better.before.empty()) {
    before = {.event_id = event_id, .id = id};
    value = original.best ? original.best->value : std::nullopt;
  } else {
    RETURN_IF_ERROR(decode_shown(better.before, before));
    value = before.value;
  }
  begin_event(out, "better-copy");
  text_member(out, "event_id", document.event_id());
  text_member(out, "cluster_id", event_id);
  member(out, "value");
  out += fmt::format("{}", now.value);
  member(out, "instead_of");
  out += '{';
  text_member(out, "event_id", before.event_id);
  text_member(out, "id", before.id);
  member(out, "value");
  out += value ? fmt::format("{}", *value) : "null";
  out += '}';
  document_member(out, "document", document);
  end_event(out, context, document);
  return absl::OkStatus();
}

absl::Status append_better_copy_place(std::string& out, const EventContext& context, const Metadata& document,
                                      const Metadata& original, const BetterCopy& better) {
  const auto place_of = [](const Metadata& m) {
    return Metadata{.source = m.source,
                    .partition = m.partition,
                    .incarnation = m.incarnation,
                    .offset = m.offset,
                    .best = m.best};
  };
  BetterCopy shorter = better;
  ShownCopy before;
  if (!better.before.empty()) {
    RETURN_IF_ERROR(decode_shown(better.before, before));
    shorter.before = encode_shown({before.value, before.event_id, before.event_id});
  }
  return append_better_copy(out, context, place_of(document), place_of(original), shorter);
}

void append_original_removed(std::string& out, const EventContext& context, const Metadata& original,
                             std::string_view reason) {
  begin_event(out, "original-removed");
  text_member(out, "cluster_id", original.event_id());
  text_member(out, "reason", reason);
  document_member(out, "original", original);
  text_member(out, "scheme", context.scheme);
  optional_text(out, "epoch", context.epoch);
  out += '}';
}

namespace {

void verdict_members(std::string& out, const Metadata& document, const Metadata& original,
                     const Outcome& outcome, std::string_view reason) {
  const bool duplicate = outcome.verdict == Verdict::duplicate;
  if (duplicate) check_not_itself(document, original);
  text_member(out, "id", document.name());
  text_member(out, "verdict", verdict_name(outcome.verdict));
  optional_text(out, "duplicate_of", duplicate ? original.name() : "");
  member(out, "similarity");
  if (duplicate) {
    append_json_ppm(out, similarity_ppm(outcome.similarity));
  } else {
    out += "null";
  }
  optional_text(out, "kind", duplicate ? kind_name(outcome.kind) : "");
  if (outcome.estimated) bool_member(out, "estimated", true);
  text_member(out, "event_id", document.event_id());
  if (outcome.again) bool_member(out, "again", true);
  optional_text(out, "cluster_id",
                duplicate || outcome.again           ? original.event_id()
                : outcome.verdict == Verdict::unique ? document.event_id()
                                                     : "");
  if (!reason.empty()) text_member(out, "reason", reason);
  append_related(out, outcome, false);
  if (!document.text_source.empty()) text_member(out, "text_source", document.text_source);
}

}  // namespace

void append_verdict(std::string& out, const Metadata& document, const Metadata& original,
                    const Outcome& outcome, std::string_view reason) {
  out += '{';
  verdict_members(out, document, original, outcome, reason);
  out += '}';
}

void append_verdict_event(std::string& out, const Metadata& document, const Outcome& outcome,
                          std::string_view reason) {
  begin_event(out, "verdict");
  verdict_members(out, document, {}, outcome, reason);
  out += '}';
}

void append_any_verdict(std::string& out, const EventContext& context, const Metadata& document,
                        const Metadata& original, const Outcome& outcome, std::string_view reason) {
  outcome.verdict == Verdict::duplicate ? append_duplicate_of(out, context, document, original, outcome)
                                        : append_verdict_event(out, document, outcome, reason);
}

namespace {

enum Flags : uint8_t { kKey = 1, kWholeFile = 2, kWarc = 4, kNull = 8, kRow = 16 };
constexpr uint8_t kAllFlags = 31;

}  // namespace

void encode_rejected(const Record& record, std::string& out) {
  out.clear();
  put_fixed(out, static_cast<uint8_t>((record.key ? kKey : 0) | (record.whole_file ? kWholeFile : 0) |
                                      (record.warc ? kWarc : 0) | (record.null_value ? kNull : 0) |
                                      (record.row ? kRow : 0)));
  put_varint(out, record.line);
  if (record.key) put_string(out, *record.key);
  put_varint(out, record.headers.size());
  for (const Header& header : record.headers) {
    put_string(out, header.name);
    put_fixed(out, static_cast<uint8_t>(header.value ? 1 : 0));
    if (header.value) put_string(out, *header.value);
  }
  put_string(out, record.value);
}

absl::Status decode_rejected(std::string_view bytes, Record& out, std::vector<Header>& headers) {
  ByteReader in(bytes);
  out = {};
  headers.clear();
  const auto flags = in.fixed<uint8_t>();
  out.line = in.varint();
  if ((flags & kKey) != 0) out.key = in.string();
  for (uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    Header& header = headers.emplace_back();
    header.name = in.string();
    if (in.fixed<uint8_t>() != 0) header.value = in.string();
  }
  out.value = in.string();
  if (!in.done() || (flags & ~kAllFlags) != 0) return invalid("the record of a rejected document is damaged");
  out.whole_file = (flags & kWholeFile) != 0;
  out.warc = (flags & kWarc) != 0;
  out.null_value = (flags & kNull) != 0;
  out.row = (flags & kRow) != 0;
  out.headers = headers;
  return absl::OkStatus();
}

const Record* RejectedRecord::of(const Record* record, const SignedDocument& document) {
  Metadata metadata;
  if (document.record.empty() || !decode_rejected(document.record, record_, headers_).ok() ||
      !decode_metadata(document.metadata, metadata).ok())
    return record;
  record_.source = metadata.source;
  record_.partition = metadata.partition;
  record_.incarnation = metadata.incarnation;
  record_.offset = metadata.offset;
  record_.timestamp_ms = metadata.arrival_ms.value_or(-1);
  return &record_;
}

namespace dom = simdjson::dom;

namespace {

absl::Status read_share(const dom::element& from, std::string_view name, uint32_t& ppm) {
  double share = 0;
  if (from[name].get(share) != simdjson::SUCCESS || !(share >= 0 && share <= 1))
    return invalid(std::string(name) + " is not a number from 0 to 1");
  ppm = static_cast<uint32_t>(std::llround(share * 1e6));
  return absl::OkStatus();
}

// Empty if it is null or missing.
std::string_view text_at(const dom::element& from, std::string_view pointer) {
  std::string_view out;
  return from.at_pointer(pointer).get(out) == simdjson::SUCCESS ? out : std::string_view();
}

absl::Status read_partial_copy(const dom::element& root, bool verdict, ReadEvent& out) {
  out.type = ReadEvent::Type::partial_copy_of;
  dom::array relations;
  if (root["event_id"].get(out.event_id) != simdjson::SUCCESS ||
      root.at_pointer(verdict ? "/id" : "/document/id").get(out.id) != simdjson::SUCCESS ||
      root["relations"].get(relations) != simdjson::SUCCESS)
    return invalid("no event_id, no id or no relations");
  out.date = text_at(root, verdict ? "/date" : "/document/date");
  for (const dom::element element : relations) {
    ReadRelation& relation = out.relations.emplace_back();
    if (element["relation"].get(relation.relation) != simdjson::SUCCESS ||
        element["cluster_id"].get(relation.cluster_id) != simdjson::SUCCESS ||
        element.at_pointer(verdict ? "/id" : "/original/id").get(relation.original_id) != simdjson::SUCCESS)
      return invalid("a relation without its name, cluster_id or original");
    relation.original_date = text_at(element, "/original/date");
    RETURN_IF_ERROR(read_share(element, "of_document", relation.of_document_ppm));
    RETURN_IF_ERROR(read_share(element, "of_original", relation.of_original_ppm));
    if (element["shared"].get(relation.shared) != simdjson::SUCCESS) relation.shared = 0;
  }
  return absl::OkStatus();
}

}  // namespace

struct EventReader::Impl {
  dom::parser parser;
  JsonMender mender;
};

EventReader::EventReader() : impl_(std::make_unique<Impl>()) {}
EventReader::~EventReader() = default;

absl::Status EventReader::read(const std::string& line, ReadEvent& out) {
  out = {};
  dom::element root;
  if (const auto error = impl_->parser.parse(line).get(root)) {
    // A passed-through field may be a number of any size.
    if (!JsonMender::may_help(error) || !impl_->mender.mend(line)) return not_json(error);
    if (const auto still = impl_->parser.parse(impl_->mender.text()).get(root)) return not_json(still);
  }
  std::string_view type;
  if (root["type"].get(type) != simdjson::SUCCESS) return invalid("not an event: it has no type");
  const bool verdict = type == "verdict" && root["relations"].error() == simdjson::SUCCESS;
  if (verdict || type == "partial-copy-of") return read_partial_copy(root, verdict, out);
  if (type == "duplicate-of") {
    out.type = ReadEvent::Type::duplicate_of;
  } else if (type == "original-removed") {
    out.type = ReadEvent::Type::original_removed;
  } else {
    return absl::OkStatus();
  }
  absl::Status status;
  const auto text = [&](std::string_view& to, std::string_view pointer) {
    if (root.at_pointer(pointer).get(to) != simdjson::SUCCESS && status.ok())
      status = invalid("no text at " + std::string(pointer));
  };
  text(out.cluster_id, "/cluster_id");
  text(out.original_id, "/original/id");
  if (out.type == ReadEvent::Type::original_removed) {
    text(out.reason, "/reason");
    return status;
  }
  text(out.event_id, "/event_id");
  text(out.id, "/document/id");
  text(out.kind, "/kind");
  out.date = text_at(root, "/document/date");
  out.original_date = text_at(root, "/original/date");
  RETURN_IF_ERROR(read_share(root, "similarity", out.similarity_ppm));
  return status;
}

namespace {

int64_t time_of(const PayloadGroups::Capture& capture) {
  return capture.time_ms.value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace

void PayloadGroups::tie(const Capture& copy, const Capture& original) {
  const size_t first = top(node(original)), second = top(node(copy));
  if (first == second) return;
  nodes_[second].above = first;
  if (time_of(nodes_[second].earliest) < time_of(nodes_[first].earliest))
    nodes_[first].earliest = nodes_[second].earliest;
}

PayloadGroups::Key PayloadGroups::earliest(Key capture) {
  const auto found = by_key_.find(capture);
  return found == by_key_.end() ? capture : nodes_[top(found->second)].earliest.key;
}

size_t PayloadGroups::node(const Capture& capture) {
  const auto [known, fresh] = by_key_.try_emplace(capture.key, nodes_.size());
  if (fresh) nodes_.push_back({known->second, capture});
  return known->second;
}

size_t PayloadGroups::top(size_t node) {
  while (nodes_[node].above != node) node = nodes_[node].above = nodes_[nodes_[node].above].above;
  return node;
}

}  // namespace doppel
