// Equal payloads have equal digests, however their records write them.
#include "formats/warc/warc.h"

#include <gtest/gtest.h>

namespace doppel {
namespace {

TEST(PayloadDigest, OneFormForEverySpellingOfSha1) {
  Sha1 abc;
  abc.update("abc");
  const std::string digest = payload_digest(abc);
  EXPECT_EQ(digest, "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
  EXPECT_EQ(sha1_of_header(digest), digest);
  EXPECT_EQ(sha1_of_header("sha1:a9993e364706816aba3e25717850c26c9cd0d89d"), digest);
  EXPECT_EQ(sha1_of_header("SHA-1:A9993E364706816ABA3E25717850C26C9CD0D89D"), digest);
  EXPECT_EQ(sha1_of_header("sha256:BA7816BF"), "");
  EXPECT_EQ(sha1_of_header("md5:900150983cd24fb0d6963f7d28e17f72"), "");
  EXPECT_EQ(sha1_of_header(""), "");
}

}  // namespace
}  // namespace doppel
