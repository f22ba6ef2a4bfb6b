// Fixtures in data/charsets/ were encoded by Python's codecs: NAME.bytes and the same text as NAME.utf8.

#include "formats/bytes/charset.h"

#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <sstream>

#include "base/utf8.h"

namespace doppel {
namespace {

std::string fixture(const std::string& name) {
  std::ifstream in(std::string(DOPPEL_SOURCE_DIR) + "/tests/formats/data/charsets/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Case {
  const char* file;
  const char* label;  // as servers write it
};
constexpr Case kCases[] = {
    {"windows-1251", "windows-1251"},
    {"windows-1251", "CP1251"},
    {"windows-1252", "ISO-8859-1"},
    {"windows-1252", "\"latin1\""},
    {"shift_jis", "Shift_JIS"},
    {"shift_jis", "x-sjis"},
    {"euc_jp", "EUC-JP"},
    {"gb18030", "GB18030"},
    {"gb18030", "gb2312"},
    {"big5", "Big5"},
    {"euc_kr", "EUC-KR"},
    {"euc_kr", "ks_c_5601-1987"},
    {"utf-16-le", "utf-16"},
    {"utf-16-be", "utf-16be"},
    {"koi8_r", "koi8-r"},
    {"iso2022_jp", "iso-2022-jp"},
};

TEST(Charset, Declared) {
  CharsetDecoder decoder;
  for (const Case& c : kCases) {
    std::string file = c.file;
    EXPECT_EQ(decoder.decode(fixture(file + ".bytes"), c.label, false), fixture(file + ".utf8")) << c.label;
  }
}

TEST(Charset, Detected) {
  CharsetDecoder decoder;
  for (std::string file : {"windows-1251", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "koi8_r",
                           "iso2022_jp", "utf-16-le"}) {
    EXPECT_EQ(decoder.decode(fixture(file + ".bytes"), "", false), fixture(file + ".utf8")) << file;
  }
}

// The declared charset cannot be the charset of these bytes.
TEST(Charset, WronglyDeclared) {
  CharsetDecoder decoder;
  const std::pair<const char*, const char*> cases[] = {
      {"windows-1251", "utf-8"}, {"shift_jis", "utf-8"},      {"euc_kr", "utf-8"}, {"gb18030", "euc-jp"},
      {"euc_jp", "utf-16le"},    {"big5", "no-such-charset"}, {"koi8_r", "utf-8"}, {"shift_jis", "euc-kr"}};
  for (const auto& [file, label] : cases) {
    EXPECT_EQ(decoder.decode(fixture(std::string(file) + ".bytes"), label, false),
              fixture(std::string(file) + ".utf8"))
        << file << " as " << label;
  }
  for (const char* label : {"windows-1252", "windows-1251", "shift_jis", "gb18030", ""}) {
    EXPECT_EQ(decoder.decode("na\xc3\xafve caf\xc3\xa9", label, false), "na\xc3\xafve caf\xc3\xa9") << label;
  }
}

TEST(Charset, ByteOrderMarksCountFirst) {
  CharsetDecoder decoder;
  const std::string text = fixture("utf-16-le.utf8");
  EXPECT_EQ(decoder.decode("\xff\xfe" + fixture("utf-16-le.bytes"), "windows-1252", true), text);
  EXPECT_EQ(decoder.decode("\xfe\xff" + fixture("utf-16-be.bytes"), "windows-1252", true), text);
  EXPECT_EQ(decoder.decode("\xef\xbb\xbf" + text, "windows-1252", true), text);
}

TEST(Charset, MetaCountsForHtmlOnlyAndBehindTheHeader) {
  CharsetDecoder decoder;
  const std::string cyrillic = fixture("windows-1251.bytes");
  for (std::string head : {R"(<meta charset="windows-1251">)", R"(<META CHARSET = windows-1251 />)",
                           R"(<meta http-equiv="Content-Type" content='text/html; charset=windows-1251'>)",
                           R"(<?xml version="1.0" encoding="windows-1251"?>)"}) {
    EXPECT_EQ(decoder.decode(head + cyrillic, "", true), head + fixture("windows-1251.utf8")) << head;
  }
  const std::string latin = "<meta charset=windows-1251>caf\xe9";
  EXPECT_EQ(decoder.decode(latin, "windows-1252", true), "<meta charset=windows-1251>caf\xc3\xa9");
  EXPECT_EQ(charset_of_meta("<html><metadata charset=x>"), "");
  EXPECT_EQ(charset_of_meta("<!-- <meta charset=x> --><META/charset=y>"), "y");
  EXPECT_EQ(charset_of_meta("<!--><meta charset=y>"), "y");
  EXPECT_EQ(charset_of_meta("<!-- <meta charset=x>"), "");
  EXPECT_EQ(charset_of_meta(std::string(2000, ' ') + "<meta charset=x>"), "");
  EXPECT_EQ(charset_of_meta("<meta charset"), "");
}

// The standard's labels and charsets, from Python's package webencodings.
TEST(Charset, EveryLabelOfTheStandardIsKnown) {
  std::ifstream in(std::string(DOPPEL_SOURCE_DIR) + "/tests/formats/data/charsets/labels.tsv");
  CharsetDecoder decoder;
  std::string label, bytes, text;
  int count = 0;
  while (std::getline(in, label, '\t') && std::getline(in, bytes, '\t') && std::getline(in, text)) {
    ++count;
    std::string unescaped;
    for (size_t i = 0; i + 1 < bytes.size(); i += 2)
      unescaped.push_back(static_cast<char>(std::stoi(bytes.substr(i, 2), nullptr, 16)));
    EXPECT_EQ(decoder.decode(unescaped, label, false), text) << label;
    EXPECT_EQ(decoder.decode(unescaped, " " + label + "\n", false), text) << label;
  }
  EXPECT_EQ(count, 222);
}

TEST(Charset, ParameterOfAType) {
  EXPECT_EQ(charset_parameter("text/html; charset=utf-8"), "utf-8");
  EXPECT_EQ(charset_parameter("text/html;Charset = \"a b\"; x=y"), "a");
  EXPECT_EQ(charset_parameter("text/html"), "");
  EXPECT_EQ(charset_parameter("charset=x"), "");
}

TEST(Charset, WhatIsWrongIsReplaced) {
  CharsetDecoder decoder;
  std::string text(400, 'x');
  for (int i = 0; i < 20; ++i) text += "caf\xc3\xa9 ";
  EXPECT_EQ(decoder.decode(text + "\xff ", "utf-8", false), text + "\xef\xbf\xbd ");
  EXPECT_EQ(decoder.decode("", "utf-8", true), "");
  EXPECT_EQ(decoder.decode("plain", "no-such", true), "plain");
}

// Nothing fits these bytes: neither the declared charset nor any other guess.
TEST(Charset, NothingFitsAndNoTextOfAnotherPageIsLeft) {
  CharsetDecoder decoder;
  decoder.decode("the page before \xe9", "windows-1252", false);
  EXPECT_EQ(decoder.decode("&\x8b\xebI u\xa3\xb0\xe2", "no-such-charset", false),
            "&\xe2\x80\xb9\xc3\xabI u\xc2\xa3\xc2\xb0\xc3\xa2");
}

// Labels come from strangers: however many come, the next page must be read the same way.
TEST(Charset, ManyUnknownLabels) {
  CharsetDecoder decoder;
  for (int i = 0; i < 200; ++i) decoder.decode("caf\xe9", "no-such-charset-" + std::to_string(i), false);
  EXPECT_EQ(decoder.decode("\xe9\xec\xff", "windows-1251", false), "\xd0\xb9\xd0\xbc\xd1\x8f");
}

TEST(Charset, TheResultIsAlwaysUtf8) {
  CharsetDecoder decoder;
  std::mt19937_64 random(7);
  const char* labels[] = {"",     "utf-8",        "shift_jis", "gb18030", "utf-16", "iso-2022-jp",
                          "big5", "windows-1252", "utf-7"};
  for (int i = 0; i < 3000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() % 128 : random());
    const char* label = labels[random() % std::size(labels)];
    EXPECT_TRUE(utf8::valid(decoder.decode(bytes, label, random() % 2 == 0))) << i << " " << label;
  }
}

TEST(Charset, Binary) {
  EXPECT_TRUE(looks_binary(std::string_view("\x89PNG\r\n\x1a\n\0\0", 10)));
  EXPECT_TRUE(looks_binary("\x01\x02"));
  EXPECT_FALSE(looks_binary("text\t\r\n"));
  EXPECT_FALSE(looks_binary(fixture("utf-16-le.bytes") + "a"));
  EXPECT_FALSE(looks_binary(fixture("iso2022_jp.bytes")));
  EXPECT_FALSE(looks_binary(fixture("gb18030.bytes")));
}

// A text in UTF-8 as UTF-16 or UTF-32, without a byte order mark.
std::string as_wide(const std::string& text, size_t size, bool little) {
  std::string out;
  const auto unit = [&](uint32_t value) {
    for (size_t i = 0; i < size; ++i)
      out.push_back(static_cast<char>(value >> 8 * (little ? i : size - 1 - i) & 0xff));
  };
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t c = length == 1 ? first : first & (0xff >> (length + 1));
    for (size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
    at += length;
    if (size == 2 && c > 0xffff) {
      unit(0xd800 + ((c - 0x10000) >> 10));
      unit(0xdc00 + ((c - 0x10000) & 0x3ff));
    } else {
      unit(c);
    }
  }
  return out;
}

const std::vector<std::string> kScripts{"The quick brown fox jumps over the lazy dog.\n",
                                        "Съешь же ещё этих мягких французских булок, да выпей чаю.\n",
                                        "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία του κόσμου.\n",
                                        "דג סקרן שט לו בים זך אך לפתע פגש חבורה נחמדה\n",
                                        "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश\n",
                                        "いろはにほへと、ちりぬるを。我が世誰ぞ、常ならむ。\n",
                                        "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。一个人的书\n",
                                        "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.\n",
                                        "Emoji 😀 among words, and more words.\n"};

TEST(Charset, UnicodeWithoutAMark) {
  CharsetDecoder decoder;
  for (const std::string& text : kScripts) {
    for (const size_t size : {2, 4}) {
      for (const bool little : {true, false}) {
        const std::string bytes = as_wide(text, size, little);
        const auto decoded = decoder.decode_text(bytes, "");
        ASSERT_TRUE(decoded.ok()) << text << size << little;
        EXPECT_EQ(*decoded, text) << size << little;
        EXPECT_TRUE(decoder.decoding().guessed);
        EXPECT_FALSE(looks_binary(bytes)) << text;
      }
    }
  }
}

TEST(Charset, OtherBytesAreNotUnicodeWithoutAMark) {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {"a text with\0one zero byte and more words that follow it"s, "/usr/bin\0/usr/lib/x\0/etc/passwd\0"s,
        "\x01\0\x02\0\x03\0\x04\0\x05\0\x06\0\x07\0\x08\0"s, std::string(400, '\0'), ""s, "a"s,
        fixture("windows-1251.bytes"), fixture("shift_jis.bytes")}) {
    EXPECT_EQ(unmarked_unicode(bytes), "") << bytes;
  }
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes(500 + random() % 500, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(unmarked_unicode(bytes), "");
  }
}

TEST(Charset, ATextThatFitsNoCharsetIsRefused) {
  CharsetDecoder decoder;
  for (std::string file : {"windows-1251", "koi8_r", "shift_jis", "big5"}) {
    const auto decoded = decoder.decode_text(fixture(file + ".bytes"), "");
    ASSERT_TRUE(decoded.ok()) << file;
    EXPECT_EQ(*decoded, fixture(file + ".utf8"));
    EXPECT_TRUE(decoder.decoding().guessed);
    EXPECT_NE(decoder.decoding().charset, "");
  }
  EXPECT_EQ(*decoder.decode_text("caf\xe9 au lait, and so on", ""), "caf\xc3\xa9 au lait, and so on");
  EXPECT_EQ(*decoder.decode_text("d\xe9j\xe0 vu", "latin1"), "d\xc3\xa9j\xc3\xa0 vu");
  EXPECT_FALSE(decoder.decoding().guessed);
  EXPECT_EQ(*decoder.decode_text("plain", ""), "plain");
  EXPECT_EQ(decoder.decoding().charset, "");
  std::string noise;
  for (int i = 0; i < 300; ++i) noise += static_cast<char>(0x80 + (i * 37) % 0x80);
  const auto refused = decoder.decode_text(noise, "");
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().ToString(), testing::HasSubstr("iconv"));
}

// Pieces give the text that the whole gives, however they are cut.
TEST(Charset, PiecesAreTheWhole) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::string> files;
  for (std::string file : {"windows-1251", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "koi8_r",
                           "utf-16-le", "utf-16-be", "windows-1252"}) {
    files.push_back(fixture(file + ".bytes"));
    files.push_back(fixture(file + ".utf8"));
  }
  for (const std::string& text : kScripts) {
    std::string many;
    for (int i = 0; i < 40; ++i) many += text;
    files.push_back(as_wide(many, 2, true));
    files.push_back(as_wide(many, 4, false));
    files.push_back("\xef\xbb\xbf" + many);
  }
  CharsetDecoder whole, pieces;
  for (int i = 0; i < 400; ++i) {
    const std::string& bytes = files[random() % files.size()];
    const auto expected = whole.decode_text(bytes, "");
    if (!expected.ok()) continue;
    pieces.begin_pieces();
    std::string text;
    // The first piece is what a charset is recognised by; it is large in life.
    size_t at = 0, size = bytes.size() / 2 + random() % (bytes.size() / 2);
    for (;;) {
      const auto piece = pieces.next_piece(std::string_view(bytes).substr(at, size));
      ASSERT_TRUE(piece.ok()) << piece.status().ToString();
      text += *piece;
      if (at >= bytes.size()) break;
      at += std::min(size, bytes.size() - at);
      size = 1 + random() % 50;
    }
    ASSERT_EQ(text, *expected) << whole.decoding().charset << " " << pieces.decoding().charset;
  }
}

TEST(Charset, APieceBehindAsciiDecides) {
  CharsetDecoder decoder;
  decoder.begin_pieces();
  const std::string ascii(1000, 'a');
  EXPECT_EQ(*decoder.next_piece(ascii), ascii);
  EXPECT_EQ(*decoder.next_piece(fixture("windows-1251.bytes")), fixture("windows-1251.utf8"));
  EXPECT_EQ(*decoder.next_piece(""), "");
  EXPECT_EQ(decoder.decoding().charset, "windows-1251");
}

}  // namespace
}  // namespace doppel
