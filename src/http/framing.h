#pragma once
// Cuts what a connection sends into requests, strictly. What two servers could read differently is refused,
// so that no request can hide in another one: two lengths, a length beside chunks, a line that ends with LF
// alone, a folded field, a space before a colon, a Host that is missing or there twice.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppel::http {

struct Head {
  std::string method, target;  // as sent
  std::vector<std::pair<std::string, std::string>> fields;
  std::string host;                // empty if HTTP/1.0 named none
  bool keeps = true;               // the connection is for more requests
  bool continues = false;          // the client waits for "100 Continue"
  std::optional<uint64_t> length;  // of the body; nullopt: it is chunked
};

class Framing {
 public:
  // `most` bounds the bytes of a head, of the line before a chunk, and of the fields behind the last chunk.
  explicit Framing(size_t most);
  ~Framing();

  // more: it needs more bytes. head: the head is complete. piece: a piece of the body, a view into `bytes`.
  // end: the body is complete; begin() expects the next request. refused: answer refusal(), then close.
  enum class Got { more, head, piece, end, refused };
  // Removes what it used from the front of `bytes`. Give it the rest again, with more behind it.
  Got read(std::string_view& bytes);
  void begin();

  Head& head() { return head_; }
  std::string_view piece() const { return piece_; }
  struct Refusal {
    int status = 400;
    std::string_view message;
  };
  const Refusal& refusal() const { return refusal_; }

 private:
  class Parser;
  Got refuse(int status, std::string_view message);
  Got read_head(std::string_view& bytes);

  const size_t most_;
  std::unique_ptr<Parser> parser_;  // null before the head is complete
  size_t looked_ = 0;               // bytes of an incomplete head that were looked at
  Head head_;
  std::string_view piece_;
  Refusal refusal_;
};

// Undoes the Content-Encoding of a request: gzip or zstd. Unlike archives, a request must be what it says:
// damaged data, data that ends early, and bytes behind the end are errors.
enum class Unpacked { whole, unknown_coding, damaged, too_large, no_room };

// Appends at most `max` bytes to `out`. `room` is asked before the text grows by that many bytes; false ends
// with no_room. `coding` is the value of the header; "identity" is unknown here.
Unpacked unpack(std::string_view coding, std::string_view packed, uint64_t max,
                const std::function<bool(uint64_t)>& room, std::string& out);

}  // namespace doppel::http
