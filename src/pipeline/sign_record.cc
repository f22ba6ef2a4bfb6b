#include "pipeline/sign_record.h"

#include "absl/strings/str_join.h"
#include "base/reason.h"
#include "base/status.h"
#include "records/events.h"
#include "records/metadata.h"
#include "state/scheme.h"

namespace doppel {
namespace {

constexpr uint64_t kBytes = 0x9e3779b97f4a7c15;  // makes a digest that no text has

void reject(SignedDocument& out, std::string_view reason) {
  out.content = Content::rejected;
  out.reason = reason;
}

}  // namespace

RecordSigner::RecordSigner(const Scheme& scheme, bool with_sets, const FormatOptions& format, KeyPolicy keys,
                           std::unique_ptr<Decoder> decoder)
    : signer_(scheme, with_sets),
      hash_key_(scheme.key),
      normalisation_(scheme.normalisation),
      decoder_(std::move(decoder)),
      keys_(keys),
      scheme_(scheme.describe()),
      fingerprint_(scheme_fingerprint(scheme)),
      num_perm_(scheme.num_perm),
      with_sets_(with_sets),
      fallback_is_near_(format.fallback_text == FallbackText::near) {
  if (decoder_ == nullptr && !is_signed(format)) decoder_ = make_decoder(format);
  if (absl::StatusOr<Best> best = Best::parse(format.best); best.ok()) best_ = *std::move(best);
}

void RecordSigner::sign(const Record& record, SignedDocument& out, uint8_t* slices) {
  out.record.clear();
  if (decoder_ == nullptr) return take_signed(record, out, slices);
  Document document;
  out.action = SignedDocument::Action::judge;
  out.reason.clear();
  out.tops.clear();
  out.prints.clear();
  out.set_left_out = false;
  out.id_tag = keys_.used() ? key_tag(record) : 0;
  out.replace = keys_.replace;
  out.payload = {};
  if (record.null_value) {
    out.content = Content::skipped;
    out.reason = message_of(Reason::null_value);
    if (keys_.tombstones && out.id_tag != 0) out.action = SignedDocument::Action::remove;
  } else if (record.pieces != nullptr) {
    sign_pieces(record, document, out, slices);
  } else if (absl::Status status = decoder_->decode(record, document); !status.ok()) {
    reject(out, std_sv(status.message()));
    // A record that cannot be fetched may still be known by its payload.
    if (record.not_fetched.empty()) document = {};
    out.payload = signer_.payload(document.payload_digest, document.scope);
  } else if (document.skip != Reason::none) {
    out.content = Content::skipped;
    out.reason = message_of(document.skip);
    if (is_elsewhere(document)) out.payload = signer_.payload(document.payload_digest, document.scope);
    if (record.payload_known) out.content = Content::unread;
    if (!document.payload_digest.empty() && is_bytes_only(document.skip) &&
        !document.url.starts_with("urn:")) {
      out.payload = signer_.payload(document.payload_digest, document.scope);
      // The document is compared like a text that resembles no other one.
      out.digest = {out.payload.low ^ kBytes, out.payload.high};
      out.content = Content::digest_only;
    }
  } else if (document.unscored != Reason::none) {
    sign_fallback(record, document, out, slices);
    out.payload = signer_.payload(document.payload_digest, document.scope);
  } else {
    signer_.sign(document.text, document.scope, out, slices);
    out.payload = signer_.payload(document.payload_digest, document.scope);
  }
  if (out.content == Content::empty)
    out.reason = message_of(document.unscored == Reason::none ? Reason::empty : document.unscored);
  saw_pages_ = saw_pages_ || record.warc || record.mail || document.page || !document.charset.empty();
  out.page = document.page;
  out.guessed_charset = document.charset_guessed ? document.charset : std::string_view();
  // The record time is Kafka's; without Kafka, the document's own.
  out.timestamp_ms = record.timestamp_ms >= 0 ? record.timestamp_ms : document.timestamp_ms.value_or(kNoTime);
  Metadata metadata = metadata_of(record, document);
  metadata.payload = out.payload;
  if (best_) metadata.best = {best_->tag(), best_->value_of(document)};
  encode_metadata(metadata, out.metadata);
  if (out.metadata.size() > kMaxMetadata) {
    reject(out, message_of(Reason::metadata_too_long, " together are longer than 65536 bytes"));
    metadata = metadata_of(record, {});
    if (record.key && record.key->size() > kMaxMetadata / 2) metadata.key.reset();
    encode_metadata(metadata, out.metadata);
  }
}

// Different pages may have the same fallback text, so documents with equal ones are not exact copies: each
// gets a digest of its own. Nor does the text show that a page has changed.
void RecordSigner::sign_fallback(const Record& record, const Document& document, SignedDocument& out,
                                 uint8_t* slices) {
  out.replace = false;
  if (!fallback_is_near_ || document.unscored != Reason::fallback || document.text.empty()) {
    out.content = Content::empty;
    return;
  }
  signer_.sign(document.text, document.scope, out, slices);
  const uint64_t place = hash_key_.derive(record.source, static_cast<uint64_t>(record.partition) + 1);
  out.digest.low = mix64(out.digest.low ^ place) + record.offset;
  out.digest.high = mix64(out.digest.high + place) ^ record.offset;
}

void RecordSigner::sign_pieces(const Record& record, Document& document, SignedDocument& out,
                               uint8_t* slices) {
  signer_.begin({});
  const absl::Status status =
      each_piece(*decoder_, record, document, [this](std::string_view text) { signer_.update(text); });
  signer_.end(out, slices);
  if (!status.ok()) reject(out, std_sv(status.message()));
}

std::string_view RecordSigner::find_bytes(const Record& record, Outcome& outcome) {
  Document document;
  if (decoder_ == nullptr || record.pieces != nullptr || !decoder_->decode(record, document).ok()) return {};
  doppel::find_bytes(document.text, normalisation_, outcome);
  return document.text;
}

uint64_t RecordSigner::key_tag(const Record& record) {
  if (!record.key) return 0;
  key_.assign(keys_.source.empty() ? record.source : keys_.source);
  key_.push_back('\0');
  key_.append(*record.key);
  return id_tag(hash_key_, key_);
}

void RecordSigner::take_signed(const Record& record, SignedDocument& out, uint8_t* slices) {
  const absl::Status status =
      record.null_value ? rejected(Reason::null_value) : read_signed(record, out, slices);
  if (status.ok()) return;
  out.action = SignedDocument::Action::judge;
  out.payload = {};
  out.id_tag = 0;
  out.replace = false;
  out.set_left_out = false;
  out.timestamp_ms = kNoTime;  // unknown, so it must not move the expiry
  out.tops.clear();
  out.prints.clear();
  out.coded_set.clear();
  out.record.clear();
  reject(out, std_sv(status.message()));
  if (record.null_value) out.content = Content::skipped;
  encode_metadata(metadata_of(record, {}), out.metadata);
}

// Checks everything here, because a later error would stop the run.
absl::Status RecordSigner::read_signed(const Record& record, SignedDocument& out, uint8_t* slices) {
  ASSIGN_OR_RETURN(const uint64_t signed_with, fingerprint_of_signed_record(record.value));
  if (signed_with != fingerprint_) {
    std::string more;
    for (const Header& header : record.headers) {
      if (header.name != kSchemeHeader || !header.value) continue;
      const std::vector<std::string> differences = signed_differences(*header.value, scheme_);
      if (!differences.empty()) more += ": " + absl::StrJoin(differences, "; ");
    }
    return rejected(Reason::other_scheme, more);
  }
  SignedOrigin origin;
  RETURN_IF_ERROR(decode_signed_record(record.value, fingerprint_, num_perm_, origin, out, slices));
  Metadata metadata;
  if (!decode_metadata(out.metadata, metadata).ok() || out.metadata.size() > kMaxMetadata)
    return rejected(Reason::bad_signed_record, " with impossible metadata");
  saw_pages_ = saw_pages_ || metadata.warc || metadata.whole_file || metadata.content_type == kMailType;
  out.page = false;
  out.guessed_charset.clear();
  if (out.content == Content::rejected && out.reason.empty())
    return rejected(Reason::bad_signed_record, " of a rejected document that does not say why");
  if (!out.record.empty()) {
    Record rejected;
    std::vector<Header> headers;
    RETURN_IF_ERROR(decode_rejected(out.record, rejected, headers));
  }
  if (!with_sets_) {
    out.coded_set.clear();
    out.set_left_out = false;
  } else if (!out.coded_set.empty()) {
    const absl::Status status = decode_compact_set(out.coded_set, set_);
    if (!status.ok()) return rejected(Reason::bad_signed_record, " whose set cannot be read");
  } else if (out.content == Content::shingled && !out.set_left_out) {
    return rejected(Reason::without_set, " (verify: signature); sign it with verify: exact");
  }
  if (out.action == SignedDocument::Action::remove && !keys_.tombstones)
    out.action = SignedDocument::Action::judge;
  if (!keys_.used()) out.id_tag = 0;
  out.replace = keys_.replace;
  return absl::OkStatus();
}

}  // namespace doppel
