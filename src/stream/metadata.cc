#include "stream/metadata.h"

#include "base/bytes.h"

namespace doppel {
namespace {
enum Flags : uint8_t { kHasTime = 1, kWholeFile = 2, kHasPartition = 4 };
}

std::string Metadata::event_id() const {
  std::string out(source);
  if (partition >= 0) out += '/' + std::to_string(partition);
  return out + '/' + std::to_string(offset);
}

std::string Metadata::name() const {
  if (!id.empty()) return std::string(id);
  return whole_file ? std::string(source) : event_id();
}

Metadata metadata_of(const Record& record, const Document& document) {
  return {.source = record.source,
          .partition = record.partition,
          .offset = record.offset,
          .id = document.id,
          .url = document.url,
          .timestamp_ms = document.timestamp_ms,
          .whole_file = record.whole_file};
}

void encode_metadata(const Metadata& m, std::string& out) {
  out.clear();
  out.push_back(static_cast<char>((m.timestamp_ms ? kHasTime : 0) | (m.whole_file ? kWholeFile : 0) |
                                  (m.partition >= 0 ? kHasPartition : 0)));
  put_string(out, m.source);
  if (m.partition >= 0) put_varint(out, static_cast<uint64_t>(m.partition));
  put_varint(out, m.offset);
  put_string(out, m.id);
  put_string(out, m.url);
  if (m.timestamp_ms) put_fixed<int64_t>(out, *m.timestamp_ms);
}

absl::Status decode_metadata(std::string_view encoded, Metadata& m) {
  ByteReader in(encoded);
  auto flags = in.fixed<uint8_t>();
  m.source = in.string();
  m.partition = (flags & kHasPartition) != 0 ? static_cast<int32_t>(in.varint()) : -1;
  m.offset = in.varint();
  m.id = in.string();
  m.url = in.string();
  m.timestamp_ms.reset();
  if ((flags & kHasTime) != 0) m.timestamp_ms = in.fixed<int64_t>();
  m.whole_file = (flags & kWholeFile) != 0;
  return in.done() ? absl::OkStatus() : absl::DataLossError("the metadata of a stored document is damaged");
}

}  // namespace doppel
