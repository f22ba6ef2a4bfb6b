#include "records/rejected_record.h"

#include "base/bytes.h"
#include "base/status.h"
#include "records/metadata.h"

namespace doppel {
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

}  // namespace doppel
