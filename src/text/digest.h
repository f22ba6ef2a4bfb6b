#pragma once
// The keyed 128-bit digest of a document's text before normalisation. Documents with equal digests are
// `exact` duplicates.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/hash_key.h"

namespace doppel {

class ByteReader;

struct Digest {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Digest&) const = default;
};

void put_digest(std::string& out, const Digest& digest);
Digest take_digest(ByteReader& in);

// Immutable after construction; threads may share it.
class Digester {
 public:
  explicit Digester(const HashKey& key);

  Digest digest(std::string_view text) const;

  // Computes the same digest from pieces of the text.
  class Stream {
   public:
    explicit Stream(const Digester& digester);
    ~Stream();
    Stream(Stream&&) noexcept;
    void update(std::string_view piece);
    Digest finish();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  friend class Stream;
  alignas(64) unsigned char secret_[192];
};

}  // namespace doppel
