#pragma once
// SIGN for one record: decode, extract, normalise, shingle, sketch. A pure function of the record and the
// settings; one RecordSigner for each thread.

#include <cstdint>
#include <memory>
#include <string>

#include "engine/sign.h"
#include "engine/signed_record.h"
#include "formats/decoder.h"
#include "formats/record.h"
#include "sketch/compact_set.h"

namespace doppel {

// What a record's key means.
struct KeyPolicy {
  bool tombstones = false;       // a null value forgets the originals under its key
  bool replace = false;          // a new text under a key forgets the old one first
  std::string_view source = {};  // whose keys they are; empty: those of each record's source
  bool used() const { return tombstones || replace; }
};

// A document whose text is in a record that is not at hand: its payload's digest may be enough.
inline bool is_elsewhere(const Document& document) {
  return document.skip == "no_body" || document.skip == "revisit_unresolved";
}

// Why a record has no text of which a copy can have the same bytes: an image, a PDF file, or one that is too
// large to be held.
inline bool is_bytes_only(std::string_view reason) {
  return reason == "type" || reason == "binary" || reason == "too_large";
}

class RecordSigner {
 public:
  // `with_sets`: see Signer. Of a record that is signed already (format "signed") nothing is done again.
  // `decoder`: in place of that of the format.
  RecordSigner(const Scheme& scheme, bool with_sets, const FormatOptions& format, KeyPolicy keys,
               std::unique_ptr<Decoder> decoder = nullptr);

  // Fills `out` and its slices (num_perm bytes). What is_bytes_only() and has a payload digest is judged by
  // that alone; its `reason` says why it has no text. Browsertrix' urn: records are not: they are made by the
  // crawler, no server ever sent them.
  void sign(const Record& record, SignedDocument& out, uint8_t* slices);
  // Whether one of the records was of a WARC file, also before it was signed.
  bool saw_warc() const { return saw_warc_; }

 private:
  void sign_fallback(const Record& record, const Document& document, SignedDocument& out, uint8_t* slices);
  void sign_pieces(const Record& record, SignedDocument& out, uint8_t* slices);
  uint64_t key_tag(const Record& record);
  void take_signed(const Record& record, SignedDocument& out, uint8_t* slices);
  absl::Status read_signed(const Record& record, SignedDocument& out, uint8_t* slices);

  Signer signer_;
  HashKey hash_key_;
  std::unique_ptr<Decoder> decoder_;  // null: records are signed
  std::string key_;                   // topic and key together
  KeyPolicy keys_;
  bool saw_warc_ = false;

  // Of signed records.
  std::string scheme_;
  uint64_t fingerprint_;
  int num_perm_;
  bool with_sets_;
  bool fallback_is_near_;
  CompactSet set_;
};

// The header of a signed message that says its data scheme in words, so that another one can be explained.
inline constexpr std::string_view kSchemeHeader = "doppel.scheme";

}  // namespace doppel
