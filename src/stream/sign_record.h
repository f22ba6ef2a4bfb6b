#pragma once
// SIGN for one record: decode, extract, normalise, shingle, sketch. A pure function of the record and the
// settings; one RecordSigner for each thread.

#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "formats/decoder.h"
#include "formats/record.h"

namespace doppel {

// What a record's key means.
struct KeyPolicy {
  bool tombstones = false;  // a null value forgets what stands under its key
  bool replace = false;     // a new text under a key forgets the old one first
  bool used() const { return tombstones || replace; }
};

// A document whose text is in a record that is not at hand: its payload's digest may tell enough.
inline bool is_elsewhere(const Document& document) {
  return document.skip == "no_body" || document.skip == "revisit_unresolved";
}

class RecordSigner {
 public:
  RecordSigner(const Engine& engine, const FormatOptions& format, KeyPolicy keys);

  // Fills `out` and its slices (num_perm bytes).
  void sign(const Record& record, SignedDocument& out, uint8_t* slices);

 private:
  void sign_pieces(const Record& record, SignedDocument& out, uint8_t* slices);
  uint64_t key_tag(const Record& record);

  Signer signer_;
  const Engine& engine_;
  std::unique_ptr<Decoder> decoder_;
  std::string key_;  // topic and key together
  KeyPolicy keys_;
};

}  // namespace doppel
