#pragma once
// SIGN: computes the digest, the slices and the compact set's values from a document's text. A pure function
// of the bytes and the scheme: no I/O, no clock, no shared state. Use one Signer for each thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "doppel/verdict.h"
#include "engine/rule.h"
#include "sketch/compact_set.h"
#include "sketch/prints.h"
#include "sketch/sketch.h"
#include "text/hash_key.h"
#include "text/shingler.h"

namespace doppel {

// Everything that signatures depend on. Signatures can be compared only if all of it is equal.
struct Scheme {
  HashKey key;
  SketchFamily family = SketchFamily::fast;
  int num_perm = 128;
  int shingle_words = 5;
  int min_shingles = 1;  // with fewer, only the digest counts
  uint32_t passage = 0;  // shingles of the shortest passage that prints find; 0: no prints
  Normalisation normalisation = Normalisation::standard;
  uint64_t max_record = 1'000'000;  // bytes of a coded set and its metadata; a larger set is left out
  std::string text;  // "name=value" lines: how texts were extracted from records, if that matters

  std::string describe() const;  // "name=value" lines; the key as a fingerprint
};

enum class Content : uint8_t {
  shingled,     // has slices
  digest_only,  // text below min_shingles: only an equal digest makes a duplicate
  empty,        // no text of its own: unscored; `reason` says why
  rejected,     // could not be decoded; `reason` says why
  skipped,      // not judged; `reason` says why
  unread,       // its text was not fetched, because the index knows its payload
};

// The verdict for a document that is not compared.
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
  // A digest of the bytes that the text was made from, and of the scope; zeros if unknown. If an original has
  // the same one, nothing else is compared; the text may even be missing.
  Digest payload;
  uint64_t id_tag = 0;   // of the id that a removal or replacement names; 0: none
  bool replace = false;  // before it is judged, originals with its id_tag and another digest are removed
  int64_t timestamp_ms = kNoTime;
  // The top halves of the shingle hashes, with repeats: in text order if there are prints, otherwise in any
  // order.
  PodVector<uint32_t> tops;
  PodVector<Print> prints;  // by position; empty if the scheme has none, or no set is kept
  std::string coded_set;    // if the document was signed elsewhere: the coded set, in place of tops
  std::string metadata;     // opaque to the engine; stored with an original
  std::string reason;
  bool page = false;            // the text is that of a page
  std::string guessed_charset;  // the charset that was found in the bytes of the text; mostly empty
  std::string record;           // if it was rejected and signed elsewhere: the original record, also opaque

  // Whether it removes or replaces the originals with its id.
  bool asks_for_id() const { return id_tag != 0 && (action == Action::remove || replace); }
};

// The bits of a payload that an index keeps in memory; 0 if unknown.
uint32_t payload_bits(const Digest& payload);

// The tag by which the index finds an id.
uint64_t id_tag(const HashKey& key, std::string_view id);

// A batch in stream order. The slices of all documents are contiguous.
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
  // If `with_sets` is false (nothing is verified by sets), tops stay empty and set_left_out stays false.
  explicit Signer(const Scheme& scheme, bool with_sets = true);

  // Sets digest, content, tops, prints and set_left_out of `out`, and its `slices` (num_perm bytes).
  void sign(std::string_view text, std::string_view scope, SignedDocument& out, uint8_t* slices);

  // Returns SignedDocument::payload for a payload digest and a scope.
  Digest payload(std::string_view payload_digest, std::string_view scope) const;

  // Like sign(), in pieces, for a document that is not held in memory.
  void begin(std::string_view scope);
  void update(std::string_view piece);
  void end(SignedDocument& out, uint8_t* slices);

 private:
  void absorb();  // adds the shingles found so far to the sketch and the set
  bool too_many_values(PodVector<uint32_t>& tops) const;
  bool too_many_ordered(const PodVector<uint32_t>& tops) const;
  void leave_out();
  bool with_prints() const { return scheme_.passage != 0 && with_sets_; }
  void make_prints(const PodVector<uint64_t>& shingles, const PodVector<uint32_t>& tops,
                   std::string_view scope, PodVector<Print>& out) const;

  Scheme scheme_;
  bool with_sets_;
  Digester digester_;
  Sketcher sketcher_;
  Shingler shingler_;
  PodVector<uint64_t> shingles_;
  PodVector<uint64_t> slots_;
  size_t max_values_;  // more distinct values do not fit into max_record

  // The state of the document between begin() and end().
  std::optional<Digester::Stream> digest_stream_;
  std::string scope_;
  PodVector<uint32_t> tops_;
  PodVector<uint64_t> in_order_;  // all shingles, for prints
  bool any_text_ = false, left_out_ = false;
  uint64_t shingle_count_ = 0;  // with repeats
};

// The set of one document of a batch in two forms: sorted values for comparison, and coded for storage. Each
// is made when it is first needed.
struct DocumentSet {
  bool made = false;
  CompactSet set;
  std::string coded;               // empty if not made yet, or left out
  PodVector<uint32_t> cell_sizes;  // see TextMap; empty if not counted yet

  void clear() {
    made = false;
    coded.clear();
    cell_sizes.clear();
  }
  absl::Status make(const SignedDocument& document);
  void code(const SignedDocument& document);
};

}  // namespace doppel
