#include "formats/bytes/http.h"

#include <brotli/encode.h>
#include <gmock/gmock.h>

#include <random>

#include "base/status.h"
#include "packed.h"

namespace doppel {
namespace {

using testing::HasSubstr;

std::string brotli(std::string_view bytes) {
  std::string out(BrotliEncoderMaxCompressedSize(bytes.size()) + 64, '\0');
  size_t size = out.size();
  BrotliEncoderCompress(5, 18, BROTLI_MODE_GENERIC, bytes.size(),
                        reinterpret_cast<const uint8_t*>(bytes.data()), &size,
                        reinterpret_cast<uint8_t*>(out.data()));
  out.resize(size);
  return out;
}

// Compresses with the coding of this HTTP name.
std::string pack(std::string_view coding, std::string_view bytes) {
  if (coding == "br") return brotli(bytes);
  if (coding == "zstd") return zst(bytes);
  return coding == "gzip" ? gz(bytes) : deflated(bytes, 15);
}

constexpr std::string_view kCodings[] = {"gzip", "deflate", "br", "zstd"};

TEST(Http, Heads) {
  auto http =
      parse_http_response("HTTP/1.1 200 OK\r\nContent-type: text/html;\r\n charset=x\r\nX\r\n\r\nbody");
  ASSERT_TRUE(http.ok());
  EXPECT_EQ(http->status, 200);
  EXPECT_EQ(http->content_type, "text/html;\r\n charset=x");
  EXPECT_EQ(http->body, "body");
  EXPECT_EQ(parse_http_response("HTTP/2 404\n\n")->status, 404);
  EXPECT_EQ(parse_http_response("HTTP/1.0 200\r\ncontent-encoding : gzip\r\n\r\n")->content_encoding, "gzip");
  EXPECT_EQ(parse_http_response("HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Encoding: br\n\n")
                ->content_encoding,
            "gzip,br");
  for (const char* codings : {"gzip, chunked", "GZIP,chunked"}) {
    const std::string message =
        std::string("HTTP/1.1 200 OK\nContent-Encoding: br\nTransfer-Encoding: ") + codings + "\n\n";
    const auto packed = parse_http_response(message);
    EXPECT_TRUE(equal_ignoring_case(packed->content_encoding, "br,gzip")) << packed->content_encoding;
    EXPECT_EQ(packed->transfer_encoding, "chunked");
  }
  for (const char* bad : {"", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
                          "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/1.1 200 OK"}) {
    EXPECT_FALSE(parse_http_response(bad).ok()) << bad;
  }
}

TEST(Http, Chunks) {
  std::string out;
  EXPECT_TRUE(decode_chunked("3\r\nabc\r\n0a;x=y\r\n0123456789\r\n0\r\n\r\n", out));
  EXPECT_EQ(out, "abc0123456789");
  EXPECT_TRUE(decode_chunked("3\nabc\n0\n\n", out));
  EXPECT_EQ(out, "abc");
  EXPECT_TRUE(decode_chunked("5\r\nabc", out));  // cut off
  EXPECT_EQ(out, "abc");
  EXPECT_FALSE(decode_chunked("<html>\r\n", out));
  EXPECT_FALSE(decode_chunked("beef is on sale\r\n", out) && out.empty());
  EXPECT_FALSE(decode_chunked("deadbeefs\r\nx", out));
  EXPECT_TRUE(decode_chunked("ffffffffffffffff\r\nabc", out));
  EXPECT_EQ(out, "abc");
}

TEST(Http, ContentEncodings) {
  const std::string text = "some text some text some text";
  std::string memory;
  constexpr size_t kMax = 1 << 20;
  EXPECT_EQ(*decode_content(gz(text), "gzip", kMax, memory), text);
  EXPECT_EQ(*decode_content(gz(text), " X-Gzip ", kMax, memory), text);
  EXPECT_EQ(*decode_content(deflated(text, 15), "deflate", kMax, memory), text);
  EXPECT_EQ(*decode_content(deflated(text, -15), "deflate", kMax, memory), text);
  EXPECT_EQ(*decode_content(gz(gz(text)), "gzip, gzip", kMax, memory), text);
  EXPECT_EQ(*decode_content(gz(text) + gz("") + gz(text), "gzip", kMax, memory), text + text);  // members
  EXPECT_EQ(*decode_content(gz(text) + "\x1f and more", "gzip", kMax, memory), text);
  EXPECT_EQ(*decode_content(gz(deflated(text, 15)), "deflate,gzip", kMax, memory), text);
  EXPECT_EQ(*decode_content(text, "identity", kMax, memory), text);
  EXPECT_EQ(*decode_content(text, "", kMax, memory), text);
  // The crawler has decoded the body, but kept the header.
  for (const char* coding : {"gzip", "br", "zstd", "deflate"}) {
    EXPECT_EQ(*decode_content("<html>" + text, coding, kMax, memory), "<html>" + text) << coding;
  }
  EXPECT_THAT(std::string(std_sv(decode_content(text, "compress", kMax, memory).status().message())),
              HasSubstr("\"compress\" is not one of"));
  std::string half = gz(std::string(5000, 'x') + text);
  half.resize(half.size() - 6);
  EXPECT_EQ(decode_content(half, "gzip", kMax, memory)->size(), 5000 + text.size());
}

// Bodies of every size, compressed well or not at all: the memory for them grows while they are decompressed.
TEST(Http, WhatIsPackedComesBackWhatever) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr size_t kMax = 3 << 20;
  for (int round = 0; round < 60; ++round) {
    const size_t size = round == 0 ? kMax : size_t{1} << (random() % 22);
    std::string text(size - random() % size, ' ');
    const uint64_t letters = 1 + random() % 256;
    const size_t same = 1 + random() % 1000;  // length of a run of equal bytes
    for (size_t i = 0; i < text.size(); i += same) {
      std::fill_n(text.begin() + static_cast<ptrdiff_t>(i), std::min(same, text.size() - i),
                  static_cast<char>(random() % letters));
    }
    for (const std::string_view coding : kCodings) {
      std::string memory;
      auto unpacked = decode_content(pack(coding, text), coding, kMax, memory);
      ASSERT_TRUE(unpacked.ok()) << coding << " " << text.size() << ": " << unpacked.status();
      EXPECT_TRUE(*unpacked == text) << coding << " " << text.size();
    }
  }
}

TEST(Http, BombsAreBounded) {
  const std::string zeros(50 << 20, '\0');
  for (const std::string_view coding : kCodings) {
    std::string memory;
    EXPECT_THAT(
        std::string(std_sv(decode_content(pack(coding, zeros), coding, 1 << 20, memory).status().message())),
        HasSubstr("more than 1048576 bytes"))
        << coding;
    EXPECT_LE(memory.capacity(), 4u << 20) << coding;
  }
}

}  // namespace
}  // namespace doppel
