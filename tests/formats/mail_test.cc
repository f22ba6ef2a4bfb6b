// Messages of mbox files. tests/mail compares whole files with Python's email.
#include "formats/mail/mail.h"

#include <gmock/gmock.h>

#include "base/status.h"
#include "formats/decoder.h"

namespace doppel {
namespace {

using testing::HasSubstr;

struct Decoded {
  std::string id, text, reason;
  std::optional<int64_t> time;
  bool page = false;
};

Decoded decoded(const std::string& message) {
  const std::unique_ptr<Decoder> decoder = make_decoder({});
  std::string memory = "From a@b Mon May  6 07:08:09 2024\n" + message;
  Record record;
  record.mail = true;
  const size_t size = memory.size();
  memory.append(kRecordPadding, '\0');
  record.value = std::string_view(memory).substr(0, size);
  Document document;
  const absl::Status status = decoder->decode(record, document);
  return {std::string(document.id), std::string(document.text), std::string(std_sv(status.message())),
          document.timestamp_ms, document.page};
}

TEST(Mail, SubjectAndTextAreTheDocument) {
  const Decoded d = decoded(
      "Message-ID: <1@b.example>\nDate: Mon, 6 May 2024 07:08:09 +0200 (CEST)\nSubject: About\n "
      "rivers\n\nThey flow.\n\n");
  EXPECT_EQ(d.id, "1@b.example");
  EXPECT_EQ(d.time, 1714972089000);
  EXPECT_EQ(d.text, "About rivers\n\nThey flow.");
  EXPECT_EQ(decoded("date: 6 May 2024 07:08:09 GMT\n\nx\n").time, 1714979289000);
  EXPECT_EQ(decoded("Subject: About\n\n \n").text, "") << "a subject alone is no text";
  EXPECT_EQ(decoded("Subject: About\n").text, "");
}

TEST(Mail, EncodedWordsInASubject) {
  CharsetDecoder charsets;
  EXPECT_EQ(header_text("=?utf-8?q?Gr=C3=BC=C3=9Fe_an?= uns", charsets), "Grüße an uns");
  EXPECT_EQ(header_text("Re: =?UTF-8?B?w7w=?=\r\n =?utf-8?Q?=C3?= =?utf-8*de?q?=9F?=", charsets), "Re: üß");
  EXPECT_EQ(header_text("=?koi8-r?B?8NLJ18XU?=", charsets), "Привет");
  EXPECT_EQ(header_text("=?what?= =?utf-8?x?y?= 1 =?= 2", charsets), "=?what?= =?utf-8?x?y?= 1 =?= 2");
}

TEST(Mail, TransferEncodingsAndCharsets) {
  EXPECT_EQ(
      decoded("Content-Transfer-Encoding: quoted-printable\nContent-Type: text/plain; charset=iso-8859-1\n\n"
              "=FCber =\nalles=20\r\n=zz\n")
          .text,
      "\n\nüber alles \n=zz");
  EXPECT_EQ(
      decoded(
          "Content-Transfer-Encoding: BASE64\nContent-Type: text/plain; charset=\"KOI8-R\"\n\n8NLJ\n18XU\n")
          .text,
      "\n\nПривет");
  EXPECT_EQ(decoded("Content-Transfer-Encoding: base64\n\naGVsbG8=\n\n____\nA list: http://x\n").text,
            "\n\nhello");
  EXPECT_THAT(decoded("Content-Transfer-Encoding: base64\n\naG!Vsb\n").reason, HasSubstr("base64"));
  EXPECT_EQ(decoded("Content-Type: text/plain; charset=utf-16\n\n" + std::string("\xff\xfe"
                                                                                 "a\0b\0",
                                                                                 6))
                .text,
            "\n\nab");
}

TEST(Mail, LinesThatBeginWithFromAreQuotedOnceLess) {
  EXPECT_EQ(decoded("\n>From here\n>>From there\n> From\n>Fromage\n").text,
            "\n\nFrom here\n>From there\n> From\n>Fromage");
  std::string memory;
  EXPECT_EQ(without_from_quotes("a >From b", memory), "a >From b");
  EXPECT_EQ(without_from_quotes(">From b", memory), "From b");
}

TEST(Mail, ThePartThatPeopleRead) {
  const std::string page =
      "<html><body><article><p>A long article of many words about rivers that flow through the land to the "
      "sea.</p></article></body></html>";
  const std::string plain = "Content-Type: text/plain\n\nthe plain text\n";
  const std::string html = "Content-Type: text/html\n\n" + page + "\n";
  const auto mixed = [](const std::string& type, std::initializer_list<std::string> parts) {
    std::string out = "Content-Type: " + type + "; boundary=\"=_a; \\\"b\"\n\npreamble\n";
    for (const std::string& part : parts) out += "--=_a; \"b\n" + part;
    return out + "--=_a; \"b--\nepilogue\n";
  };
  EXPECT_EQ(decoded(mixed("multipart/alternative", {html, plain})).text, "\n\nthe plain text");
  const Decoded only_page = decoded(mixed("multipart/mixed", {"Content-Type: image/png\n\nx\n", html}));
  EXPECT_TRUE(only_page.page);
  EXPECT_THAT(only_page.text, testing::AllOf(HasSubstr("about rivers"), testing::Not(HasSubstr("<p>"))));
  EXPECT_EQ(decoded(mixed("multipart/mixed",
                          {"Content-Disposition: attachment; filename=x\n" + plain, "\nno headers\n"}))
                .text,
            "\n\nno headers");
  EXPECT_EQ(decoded(mixed("multipart/related", {"Content-Type: image/png\n\nx\n", plain})).text, "");
  EXPECT_EQ(decoded("Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/alternative; "
                    "boundary=b2\n\n"
                    "--b2\n\ninner\n--b2--\n--b  \n\nouter\n")
                .text,
            "\n\ninner");
  // Without its boundary, or an end, the rest is lost, but not the message.
  EXPECT_EQ(decoded("Content-Type: multipart/mixed; boundary=b\n\n--b\n\nunfinished").text, "\n\nunfinished");
  EXPECT_EQ(decoded("Content-Type: multipart/mixed\n\n--b\n\ntext\n--b--").text, "");
  // Parts in parts, deeper than anybody sends.
  std::string deep;
  for (int i = 0; i < 10'000; ++i)
    deep +=
        "Content-Type: multipart/mixed; boundary=" + std::to_string(i) + "\n\n--" + std::to_string(i) + "\n";
  EXPECT_EQ(decoded(deep + "\ntext\n").text, "");
}

}  // namespace
}  // namespace doppel
