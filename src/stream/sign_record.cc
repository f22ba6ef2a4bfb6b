#include "stream/sign_record.h"

#include "base/status.h"
#include "stream/metadata.h"

namespace doppel {
namespace {

void reject(SignedDocument& out, std::string_view reason) {
  out.content = Content::rejected;
  out.reason = reason;
}

}  // namespace

RecordSigner::RecordSigner(const Engine& engine, const FormatOptions& format, KeyPolicy keys)
    : signer_(engine.make_signer()), engine_(engine), decoder_(make_decoder(format)), keys_(keys) {}

void RecordSigner::sign(const Record& record, SignedDocument& out, uint8_t* slices) {
  Document document;
  out.action = SignedDocument::Action::judge;
  out.reason.clear();
  out.tops.clear();
  out.set_left_out = false;
  out.id_tag = keys_.used() ? key_tag(record) : 0;
  out.replace = keys_.replace;
  out.payload = {};
  if (record.null_value) {
    out.content = Content::skipped;
    out.reason = "null_value";
    if (keys_.tombstones && out.id_tag != 0) out.action = SignedDocument::Action::remove;
  } else if (record.pieces != nullptr && decoder_->reads_pieces()) {
    sign_pieces(record, out, slices);
  } else if (record.pieces != nullptr) {
    reject(out, "too_large: only text is read from files of this size");
  } else if (absl::Status status = decoder_->decode(record, document); !status.ok()) {
    reject(out, std_sv(status.message()));
    // What cannot be had may be known by its payload all the same.
    if (record.not_fetched.empty()) document = {};
    out.payload = signer_.payload(document.payload_digest, document.scope);
  } else if (!document.skip.empty()) {
    out.content = Content::skipped;
    out.reason = document.skip;
    if (is_elsewhere(document)) out.payload = signer_.payload(document.payload_digest, document.scope);
    if (record.payload_known) out.content = Content::unread;
  } else {
    signer_.sign(document.text, document.scope, out, slices);
    out.payload = signer_.payload(document.payload_digest, document.scope);
  }
  // Record time is Kafka's; without Kafka it is what the document says.
  out.timestamp_ms = record.timestamp_ms >= 0 ? record.timestamp_ms : document.timestamp_ms.value_or(kNoTime);
  Metadata metadata = metadata_of(record, document);
  metadata.payload = out.payload;
  encode_metadata(metadata, out.metadata);
  if (out.metadata.size() > kMaxMetadata) {
    reject(out, "id, url and other metadata together are longer than 65536 bytes");
    encode_metadata(metadata_of(record, {}), out.metadata);
  }
}

void RecordSigner::sign_pieces(const Record& record, SignedDocument& out, uint8_t* slices) {
  signer_.begin({});
  absl::Status status;
  while (true) {
    absl::StatusOr<std::string_view> piece = record.pieces->next();
    if (!piece.ok()) status = piece.status();
    if (!piece.ok() || piece->empty()) break;
    signer_.update(*piece);
  }
  signer_.end(out, slices);
  if (!status.ok()) reject(out, std_sv(status.message()));
}

uint64_t RecordSigner::key_tag(const Record& record) {
  if (!record.key) return 0;
  key_.assign(record.source);
  key_.push_back('\0');
  key_.append(*record.key);
  return engine_.id_tag(key_);
}

}  // namespace doppel
