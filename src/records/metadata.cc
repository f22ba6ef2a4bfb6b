// The encoding: a byte of flags, the members that every document has, then the optional ones. Rare members
// have their flags in a second byte, which is present only if one of them is set. A zero before that byte
// says that the WARC part ends with a digest. At the end is the value by which the best copy is chosen: its
// tag alone, or tag and value.

#include "records/metadata.h"

#include "absl/strings/escaping.h"
#include "base/bytes.h"
#include "base/status.h"
#include "base/utf8.h"

namespace doppel {
namespace {

enum Flags : uint8_t {
  kHasDate = 1,
  kWholeFile = 2,
  kHasPartition = 4,
  kHasMore = 8,
  kHasPayload = 16,
  kFromData = 32,      // text_source
  kFromFallback = 64,  // the same
  kHasIncarnation = 128
};
enum More : uint8_t {
  kKey = 1,
  kArrival = 2,
  kContentType = 4,
  kPayloadDigest = 8,
  kWarc = 16,
  kTags = 32,
  kPassthrough = 64,
  kWarcOffset = 128
};

uint8_t flag_of(std::string_view text_source) {
  return text_source == "data" ? kFromData : text_source == kFallbackText ? kFromFallback : 0;
}

uint8_t more_of(const Metadata& m) {
  return static_cast<uint8_t>(
      (m.key ? kKey : 0) | (m.arrival_ms ? kArrival : 0) | (m.content_type.empty() ? 0 : kContentType) |
      (m.payload_digest.empty() ? 0 : kPayloadDigest) | (m.warc ? kWarc : 0) | (m.tags.empty() ? 0 : kTags) |
      (m.passthrough.empty() ? 0 : kPassthrough) | (m.warc && m.warc->offset ? kWarcOffset : 0));
}

bool has_written_digest(const Metadata& m) { return m.warc && !m.warc->payload_digest.empty(); }

}  // namespace

std::string Metadata::event_id() const {
  std::string out(source);
  if (incarnation > 1) out += '@' + std::to_string(incarnation);
  if (partition >= 0) out += '/' + std::to_string(partition);
  return out + '/' + std::to_string(offset);
}

std::string Metadata::name() const {
  if (!id.empty()) return std::string(id);
  if (key && !key->empty()) {
    return utf8::valid(*key) ? std::string(*key) : "b64:" + absl::Base64Escape(absl_sv(*key));
  }
  return whole_file ? std::string(source) : event_id();
}

Metadata metadata_of(const Record& record, const Document& document) {
  Metadata out{.source = record.source,
               .partition = record.partition,
               .incarnation = record.incarnation,
               .moved = record.moved,
               .offset = record.offset,
               .id = document.id,
               .url = document.url,
               .date_ms = document.timestamp_ms,
               .whole_file = record.whole_file,
               .text_source = document.text_source,
               .key = record.key,
               .content_type = document.content_type,
               .payload_digest = document.payload_digest,
               .warc = document.warc,
               .tags = document.tags,
               .passthrough = document.passthrough};
  if (record.timestamp_ms >= 0) out.arrival_ms = record.timestamp_ms;
  if (const Sender* sender = record.sender; sender != nullptr) {
    if (!sender->id.empty()) out.id = sender->id;
    if (!sender->url.empty()) out.url = sender->url;
    out.whole_file = false;  // its name is not its source
  }
  return out;
}

namespace {

// The Kafka position at the start of encoded metadata; partition -1 if it has none.
struct KafkaPlace {
  std::string_view source;
  int32_t partition = -1;
  uint64_t offset = 0;
  uint32_t incarnation = 1, moved = 0;
};

// The number of an incarnation, and in the upper half how many before it are the same topic.
void put_incarnation(std::string& out, const Metadata& m) {
  put_varint(out, static_cast<uint64_t>(m.moved) << 32 | m.incarnation);
}
template <typename To>
void take_incarnation(ByteReader& in, To& to) {
  const uint64_t both = in.varint();
  to.incarnation = static_cast<uint32_t>(both);
  to.moved = static_cast<uint32_t>(both >> 32);
}

KafkaPlace place_of(std::string_view encoded) {
  ByteReader in(encoded);
  const auto flags = in.fixed<uint8_t>();
  KafkaPlace out{.source = in.string()};
  if ((flags & kHasPartition) == 0) return {};
  out.partition = static_cast<int32_t>(in.varint());
  out.offset = in.varint();
  if ((flags & kHasIncarnation) != 0) take_incarnation(in, out);
  return in.ok() ? out : KafkaPlace();
}

}  // namespace

bool is_same_record(std::string_view earlier, std::string_view now, bool same_text) {
  const KafkaPlace a = place_of(earlier), b = place_of(now);
  if (a.partition < 0 || a.partition != b.partition || a.offset != b.offset || a.source != b.source)
    return false;
  if (a.incarnation == b.incarnation) return true;
  return same_text && a.incarnation < b.incarnation && b.incarnation - a.incarnation <= b.moved;
}

std::optional<std::string_view> came_by_http(const Record& record) {
  for (const Header& header : record.headers) {
    if (header.name == kHttpHeader) return header.value;
  }
  return std::nullopt;
}

bool is_same_name(std::string_view earlier, std::string_view now) {
  Metadata a, b;
  if (!decode_metadata(earlier, a).ok() || !decode_metadata(now, b).ok()) return false;
  return a.name() == b.name() && (!a.date_ms || !b.date_ms || *a.date_ms == *b.date_ms);
}

Digest payload_of_metadata(std::string_view encoded) {
  Metadata metadata;
  return decode_metadata(encoded, metadata).ok() ? metadata.payload : Digest();
}

std::optional<BestValue> best_of_metadata(std::string_view encoded) {
  Metadata metadata;
  return decode_metadata(encoded, metadata).ok() ? metadata.best : std::nullopt;
}

void encode_metadata(const Metadata& m, std::string& out) {
  const uint8_t more = more_of(m);
  out.clear();
  out.push_back(static_cast<char>((m.date_ms ? kHasDate : 0) | (m.whole_file ? kWholeFile : 0) |
                                  (m.partition >= 0 ? kHasPartition : 0) | (more != 0 ? kHasMore : 0) |
                                  (m.payload != Digest() ? kHasPayload : 0) | flag_of(m.text_source) |
                                  (m.incarnation > 1 ? kHasIncarnation : 0)));
  put_string(out, m.source);
  if (m.partition >= 0) put_varint(out, static_cast<uint64_t>(m.partition));
  put_varint(out, m.offset);
  if (m.incarnation > 1) put_incarnation(out, m);
  put_string(out, m.id);
  put_string(out, m.url);
  if (m.date_ms) put_fixed<int64_t>(out, *m.date_ms);
  if (m.payload != Digest()) put_digest(out, m.payload);
  if (has_written_digest(m)) put_fixed<uint8_t>(out, 0);
  if (more != 0) put_fixed<uint8_t>(out, more);
  if (m.key) put_string(out, *m.key);
  if (m.arrival_ms) put_fixed<int64_t>(out, *m.arrival_ms);
  if (!m.content_type.empty()) put_string(out, m.content_type);
  if (!m.payload_digest.empty()) put_string(out, m.payload_digest);
  if (m.warc) {
    for (std::string_view part : {m.warc->record_id, m.warc->target_uri, m.warc->date, m.warc->filename})
      put_string(out, part);
    if (m.warc->offset) put_varint(out, *m.warc->offset);
    if (has_written_digest(m)) put_string(out, m.warc->payload_digest);
  }
  if (!m.tags.empty()) put_string(out, m.tags);
  if (!m.passthrough.empty()) put_string(out, m.passthrough);
  if (m.best) put_fixed<uint32_t>(out, m.best->tag);
  if (m.best && m.best->value) put_fixed<double>(out, *m.best->value);
}

absl::Status decode_metadata(std::string_view encoded, Metadata& m) {
  ByteReader in(encoded);
  m = {};
  auto flags = in.fixed<uint8_t>();
  m.source = in.string();
  if ((flags & kHasPartition) != 0) m.partition = static_cast<int32_t>(in.varint());
  m.offset = in.varint();
  if ((flags & kHasIncarnation) != 0) take_incarnation(in, m);
  m.id = in.string();
  m.url = in.string();
  if ((flags & kHasDate) != 0) m.date_ms = in.fixed<int64_t>();
  m.whole_file = (flags & kWholeFile) != 0;
  m.text_source = (flags & kFromData) != 0 ? "data" : (flags & kFromFallback) != 0 ? kFallbackText : "";
  if ((flags & kHasPayload) != 0) m.payload = take_digest(in);
  uint8_t more = (flags & kHasMore) != 0 ? in.fixed<uint8_t>() : 0;
  const bool written_digest = (flags & kHasMore) != 0 && more == 0;
  if (written_digest) more = in.fixed<uint8_t>();
  if ((more & kKey) != 0) m.key = in.string();
  if ((more & kArrival) != 0) m.arrival_ms = in.fixed<int64_t>();
  if ((more & kContentType) != 0) m.content_type = in.string();
  if ((more & kPayloadDigest) != 0) m.payload_digest = in.string();
  if ((more & kWarc) != 0) {
    WarcOrigin& warc = m.warc.emplace();
    for (std::string_view* part : {&warc.record_id, &warc.target_uri, &warc.date, &warc.filename})
      *part = in.string();
    if ((more & kWarcOffset) != 0) warc.offset = in.varint();
    if (written_digest) warc.payload_digest = in.string();
  }
  if ((more & kTags) != 0) m.tags = in.string();
  if ((more & kPassthrough) != 0) m.passthrough = in.string();
  if (!in.rest().empty()) m.best.emplace().tag = in.fixed<uint32_t>();
  if (!in.rest().empty()) m.best->value = in.fixed<double>();
  return in.done() ? absl::OkStatus() : absl::DataLossError("the metadata of a stored document is damaged");
}

std::string encode_shown(const ShownCopy& copy) {
  std::string out;
  put_fixed<double>(out, copy.value);
  put_string(out, copy.event_id);
  put_string(out, copy.id == copy.event_id ? std::string_view() : copy.id);
  return out;
}

absl::Status decode_shown(std::string_view encoded, ShownCopy& out) {
  ByteReader in(encoded);
  out.value = in.fixed<double>();
  out.event_id = in.string();
  out.id = in.string();
  if (out.id.empty()) out.id = out.event_id;
  return in.done() ? absl::OkStatus() : absl::DataLossError("what is stored of a better copy is damaged");
}

}  // namespace doppel
