#pragma once
// SIGN for one record: decode, extract, normalise, shingle, sketch. The result depends only on the record
// and the settings. Use one RecordSigner per thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/reason.h"
#include "engine/resolved.h"
#include "engine/sign.h"
#include "engine/signed_record.h"
#include "formats/best.h"
#include "formats/decoder.h"
#include "formats/record.h"
#include "sketch/compact_set.h"

namespace doppel {

// What a record's key means.
struct KeyPolicy {
  bool tombstones = false;       // a null value removes the originals under its key
  bool replace = false;          // a new text under a key removes the old one first
  std::string_view source = {};  // the source that keys belong to; empty: each record's own
  bool used() const { return tombstones || replace; }
};

// Whether the text is in another record that was not read. The payload digest may be enough to judge the
// document.
inline bool is_elsewhere(const Document& document) {
  return document.skip == Reason::no_body || document.skip == Reason::revisit_unresolved;
}

// Whether a record has no text for this reason, so that only equal bytes make a copy: an image, a PDF file,
// or a record that is too large.
inline bool is_bytes_only(Reason reason) {
  return reason == Reason::type || reason == Reason::binary || reason == Reason::too_large;
}

class RecordSigner {
 public:
  // `with_sets`: see Signer. Records in the format "signed" are already signed and only checked. `decoder`
  // replaces the decoder of the format.
  RecordSigner(const Scheme& scheme, bool with_sets, const FormatOptions& format, KeyPolicy keys,
               std::unique_ptr<Decoder> decoder = nullptr);

  // Fills `out` and its slices (num_perm bytes). A document that is_bytes_only() and has a payload digest is
  // judged by the digest alone; `reason` says why it has no text. This excludes the urn: records of
  // Browsertrix, which the crawler writes itself.
  void sign(const Record& record, SignedDocument& out, uint8_t* slices);
  // Decodes the record once more to fill the byte ranges of its passages, and of what is cut. Returns the
  // text, which lives until the next call; empty if the record cannot be decoded again.
  std::string_view find_bytes(const Record& record, Outcome& outcome);
  // Whether the text of one of the records depends on how pages and charsets are read (describe_pages());
  // also if it may have been so before it was signed.
  bool saw_pages() const { return saw_pages_; }

 private:
  void sign_fallback(const Record& record, const Document& document, SignedDocument& out, uint8_t* slices);
  void sign_pieces(const Record& record, Document& document, SignedDocument& out, uint8_t* slices);
  uint64_t key_tag(const Record& record);
  void take_signed(const Record& record, SignedDocument& out, uint8_t* slices);
  absl::Status read_signed(const Record& record, SignedDocument& out, uint8_t* slices);

  Signer signer_;
  HashKey hash_key_;
  Normalisation normalisation_;
  std::unique_ptr<Decoder> decoder_;  // nullptr: records are signed
  std::optional<Best> best_;
  std::string key_;  // buffer for source and key
  KeyPolicy keys_;
  bool saw_pages_ = false;

  // For signed records.
  std::string scheme_;
  uint64_t fingerprint_;
  int num_perm_;
  bool with_sets_;
  bool fallback_is_near_;
  CompactSet set_;
};

// A header of signed messages that describes their data scheme, so that an error can name the differences.
inline constexpr std::string_view kSchemeHeader = "doppel.scheme";

}  // namespace doppel
