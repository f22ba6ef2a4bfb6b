#include "formats/bytes/http.h"

#define ZLIB_CONST
#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/reason.h"
#include "base/status.h"

namespace doppel {

absl::StatusOr<HttpResponse> parse_http_response(std::string_view message) {
  HttpResponse out;
  // HTTP/1.1 200 OK, HTTP/2 200, ICY 200 OK
  const size_t line = message.find('\n');
  const size_t space = message.substr(0, line).find(' ');
  if (line == std::string_view::npos || space == std::string_view::npos ||
      !(message.starts_with("HTTP/") || message.starts_with("ICY "))) {
    return rejected(Reason::http, ": no status line");
  }
  size_t at = space;
  while (at < line && message[at] == ' ') ++at;
  const auto [end, error] = std::from_chars(message.data() + at, message.data() + line, out.status);
  if (error != std::errc() || out.status < 0) return rejected(Reason::http, ": no status in the status line");
  std::optional<std::string_view> body =
      each_header(message.substr(line + 1), [&](std::string_view name, std::string_view value) {
        if (equal_ignoring_case(name, "content-type")) {
          if (out.content_type.empty()) out.content_type = value;
        } else if (equal_ignoring_case(name, "content-encoding")) {
          if (!out.content_encoding.empty()) out.content_encoding += ',';
          out.content_encoding += value;
        } else if (equal_ignoring_case(name, "transfer-encoding")) {
          out.transfer_encoding = value;
        }
      });
  if (!body) return rejected(Reason::http, ": no empty line ends the head");
  out.body = *body;
  // What was packed for the transfer was packed last: "gzip, chunked".
  const size_t comma = out.transfer_encoding.find(',');
  const std::string_view packed = out.transfer_encoding.substr(0, comma);
  if (comma != std::string_view::npos &&
      (equal_ignoring_case(packed, "gzip") || equal_ignoring_case(packed, "deflate"))) {
    out.content_encoding.append(out.content_encoding.empty() ? "" : ",").append(packed);
    out.transfer_encoding.remove_prefix(out.transfer_encoding.find_last_of(", \t") + 1);
  }
  return out;
}

bool decode_chunked(std::string_view body, std::string& out) {
  out.clear();
  bool any = false;
  while (true) {
    const size_t line = body.find('\n');
    if (line == std::string_view::npos) return any;
    uint64_t size = 0;
    const std::string_view head = body.substr(0, line);
    const auto [end, error] = std::from_chars(head.begin(), head.end(), size, 16);
    if (error != std::errc()) return any;
    // Only spaces and a chunk extension may follow the number.
    const char* next = end;
    while (*next == ' ' || *next == '\t' || *next == '\r') ++next;
    if (!any && *next != ';' && *next != '\n') return false;
    any = true;
    body.remove_prefix(line + 1);
    if (size == 0) return true;
    out.append(body.substr(0, size));
    if (size >= body.size()) return true;
    body.remove_prefix(size);
    if (body.starts_with("\r\n")) {
      body.remove_prefix(2);
    } else if (body.starts_with('\n')) {
      body.remove_prefix(1);
    }
  }
}

namespace {

constexpr size_t kStep = 64 << 10;

absl::Status too_large(size_t max_bytes) {
  return rejected(Reason::content_encoding,
                  ": more than " + std::to_string(max_bytes) + " bytes when decoded");
}
absl::Status damaged(const char* what) {
  return rejected(Reason::content_encoding, std::string(": damaged ") + what + " data");
}

// Makes room at the end of `out`. Returns how much there is.
size_t grow(std::string& out, size_t used, size_t max_bytes) {
  if (used == out.size()) out.resize(std::min(max_bytes + 1, std::max(kStep, used * 2)));
  return out.size() - used;
}

// Decompresses a truncated response as far as it goes.
absl::Status inflate_into(std::string_view in, int window, size_t max_bytes, std::string& out, bool& begun) {
  z_stream z = {};
  if (inflateInit2(&z, window) != Z_OK) return absl::ResourceExhaustedError("no memory to decode the body");
  std::unique_ptr<z_stream, int (*)(z_streamp)> end(&z, inflateEnd);
  z.next_in = reinterpret_cast<const Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(std::min<size_t>(in.size(), 1U << 30));
  size_t used = 0;
  out.resize(std::min(max_bytes + 1, std::max(kStep, in.size() * 4)));
  int result = Z_OK;
  while (result == Z_OK) {
    const size_t room = grow(out, used, max_bytes);
    z.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    z.avail_out = static_cast<uInt>(room);
    result = inflate(&z, Z_NO_FLUSH);
    used += room - z.avail_out;
    begun = begun || used > 0;
    if (used > max_bytes) return too_large(max_bytes);
    // Members of gzip follow each other. What else follows is left, as browsers do.
    if (result == Z_STREAM_END && window > 15 && z.avail_in > 1 && z.next_in[0] == 0x1f &&
        z.next_in[1] == 0x8b)
      result = inflateReset(&z);
    if (result == Z_OK && z.avail_in == 0 && z.avail_out > 0) break;
  }
  out.resize(used);
  if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return absl::OkStatus();
  return damaged("gzip");
}

absl::Status unbrotli(std::string_view in, size_t max_bytes, std::string& out, bool& begun) {
  std::unique_ptr<BrotliDecoderState, void (*)(BrotliDecoderState*)> state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), BrotliDecoderDestroyInstance);
  if (!state) return absl::ResourceExhaustedError("no memory to decode the body");
  const auto* next_in = reinterpret_cast<const uint8_t*>(in.data());
  size_t in_left = in.size();
  size_t used = 0;
  out.resize(std::min(max_bytes + 1, std::max(kStep, in.size() * 4)));
  while (true) {
    size_t room = grow(out, used, max_bytes);
    const size_t before = room;
    auto* next_out = reinterpret_cast<uint8_t*>(out.data() + used);
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state.get(), &in_left, &next_in, &room, &next_out, nullptr);
    used += before - room;
    begun = begun || used > 0;
    if (used > max_bytes) return too_large(max_bytes);
    if (result == BROTLI_DECODER_RESULT_ERROR) return damaged("br");
    if (result != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) break;
  }
  out.resize(used);
  return absl::OkStatus();
}

absl::Status unzstd(std::string_view in, size_t max_bytes, std::string& out, bool& begun) {
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) return absl::ResourceExhaustedError("no memory to decode the body");
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  size_t used = 0;
  out.resize(std::min(max_bytes + 1, std::max(kStep, in.size() * 4)));
  while (true) {
    const size_t room = grow(out, used, max_bytes);  // may move `out`, so call it before taking the address
    ZSTD_outBuffer output{out.data() + used, room, 0};
    const size_t result = ZSTD_decompressStream(context.get(), &output, &input);
    used += output.pos;
    begun = begun || used > 0;
    if (used > max_bytes) return too_large(max_bytes);
    if (ZSTD_isError(result)) return damaged("zstd");
    if (input.pos == input.size && output.pos < output.size) break;
  }
  out.resize(used);
  return absl::OkStatus();
}

absl::Status undo(std::string_view coding, std::string_view in, size_t max_bytes, std::string& out,
                  bool& begun) {
  if (equal_ignoring_case(coding, "gzip") || equal_ignoring_case(coding, "x-gzip")) {
    return inflate_into(in, 15 + 16, max_bytes, out, begun);
  }
  if (equal_ignoring_case(coding, "br")) return unbrotli(in, max_bytes, out, begun);
  if (equal_ignoring_case(coding, "zstd")) return unzstd(in, max_bytes, out, begun);
  if (equal_ignoring_case(coding, "deflate")) {
    // With zlib's header, as the standard says, or without.
    absl::Status status = inflate_into(in, 15, max_bytes, out, begun);
    return status.ok() || begun ? status : inflate_into(in, -15, max_bytes, out, begun);
  }
  begun = true;
  return rejected(Reason::content_encoding,
                  ": \"" + std::string(coding.substr(0, 40)) + "\" is not one of gzip, deflate, br, zstd");
}

}  // namespace

absl::StatusOr<std::string_view> decode_content(std::string_view body, std::string_view encodings,
                                                size_t max_bytes, std::string& memory) {
  constexpr int kMost = 4;
  std::string other;
  for (int i = 0; i < kMost && !encodings.empty() && !body.empty(); ++i) {
    // Encodings are undone from the last to the first.
    const size_t comma = encodings.rfind(',');
    std::string_view coding = comma == std::string_view::npos ? encodings : encodings.substr(comma + 1);
    encodings = comma == std::string_view::npos ? std::string_view() : encodings.substr(0, comma);
    while (!coding.empty() && (coding.front() == ' ' || coding.front() == '\t')) coding.remove_prefix(1);
    while (!coding.empty() && (coding.back() == ' ' || coding.back() == '\t')) coding.remove_suffix(1);
    if (coding.empty() || equal_ignoring_case(coding, "identity") || equal_ignoring_case(coding, "none") ||
        equal_ignoring_case(coding, "utf-8")) {
      continue;
    }
    bool begun = false;
    absl::Status status = undo(coding, body, max_bytes, other, begun);
    if (!status.ok() && begun) return status;
    if (!status.ok()) continue;  // the body is not encoded
    memory.swap(other);
    body = memory;
  }
  return body;
}

}  // namespace doppel
