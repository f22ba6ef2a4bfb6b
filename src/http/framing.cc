#include "http/framing.h"

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "http/message.h"

namespace doppel::http {
namespace {

namespace beast = boost::beast;
using Fault = beast::http::error;
using FaultCode = beast::error_code;

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr size_t kLastChunk = 5;  // bytes of the shortest one

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

bool is(std::string_view name, std::string_view other) { return same_word(name, other); }

// The lines of a head as Beast takes them, but also without bare line ends, folds and control characters.
// Returns what is wrong, or nothing.
std::string_view look(std::string_view text, size_t from) {
  for (size_t i = from; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != 0x7f) continue;
    if (c == '\t') continue;
    if (c == '\r' && (i + 1 == text.size() || text[i + 1] == '\n')) continue;
    if (c != '\n' || i == 0 || text[i - 1] != '\r')
      return "the head has a control character, or a bare CR or LF";
  }
  return {};
}

}  // namespace

class Framing::Parser : public beast::http::basic_parser<true> {
 public:
  explicit Parser(Head& head) : head_(head) {}
  bool headed = false;
  bool waits = false;  // the last bytes were too few
  std::string_view piece;
  size_t hosts = 0, lengths = 0, codings = 0;
  bool coding_is_chunked = false, http11 = false;
  std::string_view wrong;

 private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target, int version,
                       FaultCode&) override {
    head_.method = view(method);
    head_.target = view(target);
    http11 = version == 11;
  }
  void on_response_impl(int, beast::string_view, int, FaultCode&) override {}
  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                     FaultCode&) override {
    if (headed) return;  // behind the last chunk
    const std::string_view key = view(name), text = view(value);
    head_.fields.emplace_back(key, text);
    if (is(key, "host")) {
      ++hosts;
      head_.host = text;
    } else if (is(key, "content-length")) {
      ++lengths;
      if (text.find(',') != std::string_view::npos) ++lengths;
    } else if (is(key, "transfer-encoding")) {
      ++codings;
      coding_is_chunked = is(text, "chunked");
    } else if (is(key, "expect")) {
      head_.continues = is(text, "100-continue");
      if (!head_.continues) wrong = "an expectation that this server does not know";
    }
  }
  void on_header_impl(FaultCode&) override { headed = true; }
  void on_body_init_impl(const boost::optional<uint64_t>&, FaultCode&) override {}
  size_t on_body_impl(beast::string_view body, FaultCode&) override {
    piece = view(body);
    return body.size();
  }
  void on_chunk_header_impl(uint64_t, beast::string_view extensions, FaultCode& failed) override {
    // Beast also takes spaces that no extension follows.
    if (!extensions.empty() && extensions.back() == ' ') failed = Fault::bad_chunk_extension;
  }
  size_t on_chunk_body_impl(uint64_t, beast::string_view body, FaultCode&) override {
    piece = view(body);
    return body.size();
  }
  void on_finish_impl(FaultCode&) override {}

  Head& head_;
};

Framing::Framing(size_t most) : most_(most) {}
Framing::~Framing() = default;

void Framing::begin() {
  parser_.reset();
  looked_ = 0;
  head_ = {};
}

Framing::Got Framing::refuse(int status, std::string_view message) {
  refusal_ = {status, message};
  return Got::refused;
}

Framing::Got Framing::read_head(std::string_view& bytes) {
  // A CR at the end is looked at again, with what follows it.
  const size_t from = looked_ - std::min<size_t>(looked_, kEnd.size());
  const size_t end = bytes.find(kEnd, from);
  const std::string_view text = bytes.substr(0, end == std::string_view::npos ? end : end + kEnd.size());
  if (const std::string_view wrong = look(text, from); !wrong.empty()) return refuse(400, wrong);
  if (text.size() > most_) return refuse(431, "request line and headers are too large");
  if (end == std::string_view::npos) {
    looked_ = bytes.size();
    return Got::more;
  }
  if (text.find("\r\n ") != std::string_view::npos || text.find("\r\n\t") != std::string_view::npos)
    return refuse(400, "a header that continues on the next line");

  parser_ = std::make_unique<Parser>(head_);
  Parser& p = *parser_;
  p.header_limit(static_cast<uint32_t>(most_) + 1);
  p.body_limit(std::numeric_limits<uint64_t>::max());  // the server counts; Boost 1.74 takes none for zero
  for (std::string_view left = text; !p.headed;) {
    FaultCode failed;
    const size_t used = p.put(boost::asio::buffer(left.data(), left.size()), failed);
    left.remove_prefix(used);
    if (failed == Fault::bad_version) return refuse(505, "this server speaks HTTP/1.0 and HTTP/1.1");
    if (failed == Fault::bad_content_length || failed == Fault::bad_transfer_encoding)
      return refuse(400, "a body has one length, which is a number");
    if (failed || (used == 0 && !p.headed)) return refuse(400, "this is not a request of HTTP");
  }
  bytes.remove_prefix(text.size());
  if (!p.wrong.empty()) return refuse(417, p.wrong);
  if (p.hosts > 1 || (p.hosts == 0 && p.http11)) return refuse(400, "a request names one Host");
  if (p.lengths > 1 || (p.lengths == 1 && p.codings > 0)) return refuse(400, "a body has one length");
  if (p.codings > 1 || (p.codings == 1 && (!p.coding_is_chunked || !p.http11)))
    return refuse(400, "Transfer-Encoding may only be chunked, and only in HTTP/1.1");
  const auto plain = [](char c) { return c > ' ' && c < 0x7f && c != '#'; };
  if (!std::all_of(head_.target.begin(), head_.target.end(), plain))
    return refuse(400, "the address has characters that must be percent-encoded");
  head_.keeps = p.keep_alive();
  head_.continues = head_.continues && p.http11;
  if (!p.chunked()) head_.length = p.content_length() ? *p.content_length() : 0;
  return Got::head;
}

Framing::Got Framing::read(std::string_view& bytes) {
  if (parser_ == nullptr) return read_head(bytes);
  Parser& p = *parser_;
  while (!p.is_done()) {
    // Beast asserts that it is not asked again about a last chunk that cannot be complete.
    if (bytes.empty() || (p.waits && bytes.size() < kLastChunk)) return Got::more;
    FaultCode failed;
    p.piece = {};
    bytes.remove_prefix(p.put(boost::asio::buffer(bytes.data(), bytes.size()), failed));
    p.waits = failed == Fault::need_more;
    if (p.waits) {
      return bytes.size() > most_ ? refuse(400, "the line before a chunk is too long") : Got::more;
    }
    if (failed) return refuse(400, "the chunks of the body are malformed");
    if (p.piece.empty()) continue;
    piece_ = p.piece;
    return Got::piece;
  }
  return Got::end;
}

namespace {

constexpr size_t kPiece = 64 << 10;
// zstd's own default for decoders is 128 MiB for each; RFC 8878 recommends to support 8 MiB.
constexpr int kWindowLog = 23;

// Where unpacked bytes go, piece by piece.
class Out {
 public:
  Out(uint64_t max, const std::function<bool(uint64_t)>& room, std::string& text)
      : max_(max), room_(room), text_(text) {}
  Unpacked add(const char* bytes, size_t size) {
    if (text_.size() + size > max_) return Unpacked::too_large;
    if (size > 0 && !room_(size)) return Unpacked::no_room;
    text_.append(bytes, size);
    return Unpacked::whole;
  }

 private:
  const uint64_t max_;
  const std::function<bool(uint64_t)>& room_;
  std::string& text_;
};

Unpacked gunzip(std::string_view in, Out& out) {
  z_stream z = {};
  if (inflateInit2(&z, 15 + 16) != Z_OK) return Unpacked::no_room;
  const std::unique_ptr<z_stream, int (*)(z_streamp)> end(&z, inflateEnd);
  z.next_in = reinterpret_cast<const Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());  // a body has at most 1 GiB
  std::vector<char> piece(kPiece);
  for (;;) {
    z.next_out = reinterpret_cast<Bytef*>(piece.data());
    z.avail_out = kPiece;
    const int result = inflate(&z, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) return Unpacked::damaged;
    if (const Unpacked added = out.add(piece.data(), kPiece - z.avail_out); added != Unpacked::whole)
      return added;
    if (result == Z_OK) continue;
    if (z.avail_in == 0) return Unpacked::whole;
    if (inflateReset(&z) != Z_OK) return Unpacked::damaged;  // another member follows
  }
}

Unpacked unzstd(std::string_view in, Out& out) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) return Unpacked::no_room;
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLog);
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  std::vector<char> piece(kPiece);
  for (;;) {
    ZSTD_outBuffer to{piece.data(), piece.size(), 0};
    const size_t left = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(left) != 0) return Unpacked::damaged;
    if (const Unpacked added = out.add(piece.data(), to.pos); added != Unpacked::whole) return added;
    if (from.pos == from.size && left == 0) return Unpacked::whole;  // also when the piece is exactly full
    if (from.pos == from.size && to.pos < to.size) return Unpacked::damaged;
  }
}

}  // namespace

Unpacked unpack(std::string_view coding, std::string_view packed, uint64_t max,
                const std::function<bool(uint64_t)>& room, std::string& out) {
  Out to(max, room, out);
  if (same_word(coding, "gzip") || same_word(coding, "x-gzip")) return gunzip(packed, to);
  if (same_word(coding, "zstd")) return unzstd(packed, to);
  return Unpacked::unknown_coding;
}

}  // namespace doppel::http
