// Four steps over blocks of a few KB that stay in the first-level cache: normalise, find the edges of words,
// hash each word once, combine neighbouring hashes into shingles. What is open at the end of a block (a run
// of marks, a word, the last words of a shingle) is carried to the next block in constant space.

#include "text/shingler.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "text/kernels.h"
#include "text/normaliser.h"

namespace doppel {

namespace {
constexpr size_t kMaxWords = 64;
constexpr size_t kMaxHeld = 2;  // bytes that a Looser holds back
constexpr size_t kMaxBlockWords = (Normaliser::kMaxSettled + kMaxHeld) / 2 + 2;
static_assert(Normaliser::kFront + Normaliser::kMaxSettled + kMaxHeld < 0x10000, "edges are 16 bits");
static_assert(Normaliser::kFront >= kWordBlock);

bool is_word_byte(uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

// Makes the text of Normalisation::loose from settled text, which contains only whole code points: replaces
// digits with 0, removes U+0300 to U+036F (CC 80 to CD AF), and full stops and commas within a number, and
// full stops between single letters ("u.s."). Holds back what the next block decides.
class Looser {
 public:
  // Writes to `out`, which has room for kMaxHeld bytes more than `text`. Returns the end of what it wrote.
  uint8_t* loosen(std::span<const uint8_t> text, uint8_t* out) {
    begin_ = out_ = out;
    joined_ = nullptr;
    for (size_t i = 0; i < text.size(); ++i) {
      const uint8_t c = text[i];
      if ((c == 0xcc || (c == 0xcd && i + 1 < text.size() && text[i + 1] <= 0xaf)) && i + 1 < text.size()) {
        ++i;
      } else {
        take(is_digit(c) ? '0' : c);
      }
    }
    run_ = run();
    return out_;
  }
  // Ends the document: writes what is held back.
  uint8_t* finish(uint8_t* out) {
    begin_ = out_ = out;
    joined_ = nullptr;
    take(' ');
    run_ = Run::none;
    return out_;
  }

 private:
  // What the last run of word bytes is, if nothing separates after it: it ends with a digit, or is one
  // letter.
  enum class Run : uint8_t { none, digit, letter, other };

  static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
  static bool is_letter(uint8_t c) { return c >= 'a' && c <= 'z'; }

  void take(uint8_t c) {
    if (separator_ != 0 && holds_back(c)) return;
    if (c == '.' || c == ',') {
      held_run_ = run();
      if (held_run_ == Run::digit || (held_run_ == Run::letter && c == '.')) {
        separator_ = c;
        return;
      }
    }
    *out_++ = c;
  }

  // Decides by the next byte what becomes of a separator that is held back. Whether the byte is held back,
  // too.
  bool holds_back(uint8_t c) {
    if (letter_ == 0 && held_run_ == Run::letter && is_letter(c)) {
      letter_ = c;
      return true;
    }
    const bool joins = letter_ != 0 ? !is_word_byte(c) : held_run_ == Run::digit && c == '0';
    if (!joins) *out_++ = separator_;
    if (letter_ != 0) {
      *out_++ = letter_;
      if (joins) joined_ = out_;
    }
    separator_ = letter_ = 0;
    return false;
  }

  Run run() const {
    if (out_ == begin_) return run_;
    const uint8_t last = out_[-1];
    if (!is_word_byte(last)) return Run::none;
    if (last == '0') return Run::digit;
    if (!is_letter(last)) return Run::other;
    if (out_ == joined_) return Run::letter;
    const bool alone = out_ - begin_ > 1 ? !is_word_byte(out_[-2]) : run_ == Run::none;
    return alone ? Run::letter : Run::other;
  }

  uint8_t *begin_ = nullptr, *out_ = nullptr;  // of this block
  const uint8_t* joined_ = nullptr;            // end of a letter that was joined with the one before it
  Run run_ = Run::none;                        // at the end of the last block
  Run held_run_ = Run::none;                   // in front of the separator that is held back
  uint8_t separator_ = 0;                      // held back, if not 0
  uint8_t letter_ = 0;                         // held back behind it: "u.s" in "u.s."
};

}  // namespace

struct Shingler::State {
  State(const HashKey& key, int shingle_words, Normalisation how)
      : keys(key),
        words(shingle_words),
        normalisation(how),
        kernels(text_kernels(simd_level())),
        normaliser(kernels) {
    if (how != Normalisation::standard)
      raw =
          std::make_unique<uint8_t[]>(Normaliser::kFront + Normaliser::kMaxSettled + kMaxHeld + kKernelSlack);
  }

  void use_settled(PodVector<uint64_t>& out);
  void use_raw(const uint8_t* p, const uint8_t* end, PodVector<uint64_t>& out);
  void use(std::span<uint8_t> text, PodVector<uint64_t>& out);
  void combine(size_t fresh, PodVector<uint64_t>& out);
  void finish(PodVector<uint64_t>& out);
  void begin_if_ended() {
    if (ended) words_seen = 0;
    ended = false;
  }

  const WordKeys keys;
  const int words;
  const Normalisation normalisation;
  const TextKernels& kernels;
  Normaliser normaliser;
  std::unique_ptr<uint8_t[]> raw;  // a block of unnormalised or loosened text
  Looser looser;

  // The open word: the state after its whole blocks, and its last 1 to 16 bytes, not hashed yet.
  bool word_open = false;
  uint64_t word_state = 0;
  uint8_t word_tail[kWordBlock];
  size_t word_tail_size = 0;

  uint64_t words_seen = 0;
  bool ended = false;  // the next call starts a new document
  size_t kept = 0;     // hashes of the words before this block, fewer than a shingle needs
  uint16_t edges[2 * kMaxBlockWords + kEdgeSlack];
  uint64_t hashes[kMaxWords + kMaxBlockWords + kHashSlack] = {};
};

void Shingler::State::use_settled(PodVector<uint64_t>& out) {
  const std::span<uint8_t> text = normaliser.settled();
  if (normalisation != Normalisation::loose) return use(text, out);
  uint8_t* const loose = raw.get() + Normaliser::kFront;
  use({loose, looser.loosen(text, loose)}, out);
}

// Turns capital letters into bytes that belong to words. That is safe, because unnormalised text is never
// compared with normalised text.
void Shingler::State::use_raw(const uint8_t* p, const uint8_t* end, PodVector<uint64_t>& out) {
  while (p != end) {
    const auto n = std::min<size_t>(static_cast<size_t>(end - p), Normaliser::kBlock);
    uint8_t* text = raw.get() + Normaliser::kFront;
    std::transform(p, p + n, text,
                   [](uint8_t c) { return static_cast<uint8_t>(c >= 'A' && c <= 'Z' ? c | 0x80 : c); });
    use({text, n}, out);
    p += n;
  }
}

void Shingler::State::use(std::span<uint8_t> text, PodVector<uint64_t>& out) {
  if (text.empty()) return;
  uint8_t* base = text.data() - Normaliser::kFront;
  size_t count = 0;
  if (word_open) {
    std::memcpy(text.data() - word_tail_size, word_tail, word_tail_size);
    edges[count++] = static_cast<uint16_t>(Normaliser::kFront - word_tail_size);
  }
  count += kernels.find_edges(text.data(), text.size(), Normaliser::kFront, word_open, edges + count);

  const size_t complete = count / 2;
  uint64_t* fresh = hashes + kept;
  kernels.hash_words(base, edges, complete, keys, fresh);
  if (word_open && complete != 0) {
    fresh[0] = hash_word(base + edges[0], static_cast<size_t>(edges[1] - edges[0]), keys, word_state);
  }

  if (complete != 0 || !word_open) word_state = 0;
  word_open = count % 2 != 0;
  if (word_open) {
    const uint8_t* p = base + edges[count - 1];
    size_t left = static_cast<size_t>(text.data() + text.size() - p);
    const size_t whole = (left - 1) / kWordBlock * kWordBlock;  // keeps at least one byte
    word_state = hash_blocks(p, whole, keys, word_state);
    word_tail_size = left - whole;
    std::memcpy(word_tail, p + whole, word_tail_size);
  }
  combine(complete, out);
}

// Makes shingles from `fresh` newly hashed words, and keeps the words that start the next shingles.
void Shingler::State::combine(size_t fresh, PodVector<uint64_t>& out) {
  words_seen += fresh;
  const size_t have = kept + fresh;
  const size_t size = static_cast<size_t>(words);
  if (have < size) {
    kept = have;
    return;
  }
  const size_t shingles = have - size + 1;
  const size_t old = out.size();
  out.resize(old + shingles);
  kernels.combine(hashes, shingles, words, out.data() + old);
  kept = size - 1;
  std::memmove(hashes, hashes + shingles, kept * sizeof hashes[0]);
}

void Shingler::State::finish(PodVector<uint64_t>& out) {
  begin_if_ended();
  if (normalisation != Normalisation::none) {
    normaliser.finish();
    use_settled(out);
    normaliser.drop_settled();
  }
  if (normalisation == Normalisation::loose) {
    uint8_t* const loose = raw.get() + Normaliser::kFront;
    use({loose, looser.finish(loose)}, out);
  }
  if (word_open) {
    hashes[kept] = hash_word(word_tail, word_tail_size, keys, word_state);
    word_open = false;
    word_state = 0;
    combine(1, out);
  }
  kept = 0;
  ended = true;
}

std::string_view normalisation_name(Normalisation normalisation) {
  switch (normalisation) {
    case Normalisation::standard:
      break;
    case Normalisation::loose:
      return "loose-2";
    case Normalisation::none:
      return "none-1";
  }
  return "1";
}

Shingler::Shingler(const HashKey& key, int words, Normalisation normalisation)
    : state_(new State(key, words, normalisation)) {}
Shingler::~Shingler() = default;
Shingler::Shingler(Shingler&&) noexcept = default;
Shingler& Shingler::operator=(Shingler&&) noexcept = default;

void Shingler::update(std::string_view piece, PodVector<uint64_t>& out) {
  const auto* p = reinterpret_cast<const uint8_t*>(piece.data());
  const uint8_t* end = p + piece.size();
  state_->begin_if_ended();
  if (state_->normalisation == Normalisation::none) return state_->use_raw(p, end, out);
  while (p != end) {
    p = state_->normaliser.fill(p, end);
    state_->use_settled(out);
    state_->normaliser.drop_settled();
  }
}

void Shingler::finish(PodVector<uint64_t>& out) { state_->finish(out); }

uint64_t Shingler::words_seen() const { return state_->words_seen; }

}  // namespace doppel
