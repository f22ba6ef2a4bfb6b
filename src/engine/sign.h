#pragma once
// SIGN: a document's text becomes its digest, its slices and the values of its compact set. A pure
// function of the bytes and the scheme: no I/O, no clock, no shared state. One Signer per thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/pod_vector.h"
#include "doppel/verdict.h"
#include "engine/rule.h"
#include "sketch/prints.h"
#include "sketch/sketch.h"
#include "text/digest.h"
#include "text/shingler.h"

namespace doppel {

// Everything that signatures depend on. Two signatures compare only if all of it is equal.
struct Scheme {
  HashKey key;
  SketchFamily family = SketchFamily::fast;
  int num_perm = 128;
  int shingle_words = 5;
  int min_shingles = 1;  // fewer: only the digest counts
  uint32_t passage = 0;  // shingles of the shortest passage that prints find; 0: no prints
  Normalisation normalisation = Normalisation::standard;
  uint64_t max_record = 1'000'000;  // bytes of a coded set and its metadata; a larger set is left out
  std::string text;                 // "name=value" lines: how texts were made of records, where that matters

  std::string describe() const;  // "name=value" lines, the key as a fingerprint
};

enum class Content : uint8_t {
  shingled,     // has slices
  digest_only,  // text below min_shingles: only an equal digest makes it a copy
  empty,        // no text: unscored
  rejected,     // could not be decoded; `reason` says why
  skipped,      // no document to be judged; `reason` says why
  unread,       // its text was not looked for, because the index knows its payload
};

// What is said of a document that is not compared at all.
inline Verdict verdict_without_text(Content content) {
  return content == Content::empty     ? Verdict::unscored
         : content == Content::skipped ? Verdict::skipped
         : content == Content::unread  ? Verdict::skipped
                                       : Verdict::rejected;
}

struct SignedDocument {
  enum class Action : uint8_t { judge, remove };

  Action action = Action::judge;
  Content content = Content::empty;
  bool set_left_out = false;  // too many shingles for max_record: verified by signature
  Digest digest;
  // Names the bytes that the text was made of, and the scope; zeros: not known. Where an original was made of
  // the same ones, nothing else is looked at, not even whether there is a text.
  Digest payload;
  uint64_t id_tag = 0;   // of what a removal names; 0: none
  bool replace = false;  // where it is judged: originals with its id_tag and another digest are removed first
  int64_t timestamp_ms = kNoTime;
  // Top halves of the shingle hashes, some repeated: in the order of the text where there are prints, else in
  // any.
  PodVector<uint32_t> tops;
  PodVector<Print> prints;  // by position; none where the scheme wants none, or no set is kept
  std::string coded_set;    // in their place where the document was signed elsewhere: the coded set
  std::string metadata;     // opaque to the engine, stored with an original
  std::string reason;
  std::string record;  // of a rejected one that was signed elsewhere: what it was made of, opaque as well

  // Whether it removes or replaces what its id names.
  bool asks_for_id() const { return id_tag != 0 && (action == Action::remove || replace); }
};

// What an index keeps of a payload in memory; 0: not known.
uint32_t payload_bits(const Digest& payload);

// What the index knows an id by.
uint64_t id_tag(const HashKey& key, std::string_view id);

// A batch in the order of the stream. Slices of all documents lie side by side.
struct SignedBatch {
  std::vector<SignedDocument> documents;
  PodVector<uint8_t> slices;  // documents x num_perm

  void resize(size_t n, int num_perm) {
    documents.resize(n);
    slices.resize(n * num_perm);
  }
};

class Signer {
 public:
  // Without sets, where nothing is verified by them, tops stay empty and none is left out.
  explicit Signer(const Scheme& scheme, bool with_sets = true);

  // Fills digest, content, tops, prints, set_left_out of `out` and its `slices` (num_perm bytes).
  void sign(std::string_view text, std::string_view scope, SignedDocument& out, uint8_t* slices);

  // What names these bytes in this scope, by a digest of them as it was given.
  Digest payload(std::string_view payload_digest, std::string_view scope) const;

  // The same in pieces, for a document that is not held in memory.
  void begin(std::string_view scope);
  void update(std::string_view piece);
  void end(SignedDocument& out, uint8_t* slices);

 private:
  void absorb();  // the shingles found so far go into the sketch and the set
  bool too_many_values(PodVector<uint32_t>& tops) const;
  bool too_many_ordered(const PodVector<uint32_t>& tops) const;
  void leave_out();
  bool with_prints() const { return scheme_.passage != 0 && with_sets_; }
  void make_prints(const PodVector<uint64_t>& shingles, std::string_view scope, PodVector<Print>& out) const;

  Scheme scheme_;
  bool with_sets_;
  Digester digester_;
  Sketcher sketcher_;
  Shingler shingler_;
  PodVector<uint64_t> shingles_;
  PodVector<uint64_t> slots_;
  size_t max_values_;  // more distinct ones do not fit into max_record

  // Of the document between begin() and end().
  std::optional<Digester::Stream> digest_stream_;
  std::string scope_;
  PodVector<uint32_t> tops_;
  PodVector<uint64_t> in_order_;  // all shingles, for prints
  bool any_text_ = false, left_out_ = false;
  uint64_t shingle_count_ = 0;  // repeats included
};

}  // namespace doppel
