#include "fetch/s3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "temporary_directory.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

absl::StatusOr<S3Settings> settings_in(const Environment& environment) {
  return s3_settings([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

// The examples of Amazon's page on Signature Version 4 for S3.
struct Example {
  std::string query, signature;
};

TEST(S3, SignsAsAmazonsExamples) {
  const S3Settings settings{.access_key = "AKIAIOSFODNN7EXAMPLE",
                            .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                            .region = "us-east-1"};
  constexpr std::time_t k2013May24 = 1369353600;
  for (const auto& [query, signature] :
       {Example{"lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
        Example{"max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"}}) {
    const std::vector<std::string> headers =
        s3_headers(settings, "https://examplebucket.s3.amazonaws.com/?" + query, k2013May24);
    ASSERT_EQ(headers.size(), 3u);
    EXPECT_EQ(headers[1], "x-amz-date: 20130524T000000Z");
    EXPECT_EQ(
        headers[2],
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=" +
            signature);
  }
}

TEST(S3, WithoutAKeyRequestsAreNotSigned) {
  EXPECT_TRUE(s3_headers({.region = "us-east-1"}, "https://b.s3.amazonaws.com/k", 0).empty());
}

TEST(S3, SettingsComeFromTheEnvironmentAndThenFromFiles) {
  const TemporaryDirectory directory;
  const std::string home = directory.path() + "/.aws";
  std::filesystem::create_directory(home);
  std::ofstream(home + "/credentials")
      << "[default]\naws_access_key_id = D\naws_secret_access_key=DS\n"
         "# a comment\n[work]\naws_access_key_id = W\naws_secret_access_key = WS\n"
         "aws_session_token = WT\n";
  std::ofstream(home + "/config") << "[default]\nregion = eu-north-1\n[profile work]\nregion = ap-east-1\n"
                                     "endpoint_url = http://127.0.0.1:9000/\n";
  const Environment at_home{{"HOME", directory.path()}};
  const absl::StatusOr<S3Settings> usual = settings_in(at_home);
  ASSERT_TRUE(usual.ok());
  EXPECT_EQ(usual->access_key + usual->secret_key + usual->region + usual->endpoint, "DDSeu-north-1");

  Environment at_work = at_home;
  at_work["AWS_PROFILE"] = "work";
  const absl::StatusOr<S3Settings> work = settings_in(at_work);
  ASSERT_TRUE(work.ok());
  EXPECT_EQ(work->access_key + work->secret_key + work->session_token, "WWSWT");
  EXPECT_EQ(work->region, "ap-east-1");
  EXPECT_EQ(work->endpoint, "http://127.0.0.1:9000");

  at_work["AWS_ACCESS_KEY_ID"] = "E";
  at_work["AWS_SECRET_ACCESS_KEY"] = "ES";
  at_work["AWS_REGION"] = "sa-east-1";
  const absl::StatusOr<S3Settings> environment = settings_in(at_work);
  ASSERT_TRUE(environment.ok());
  EXPECT_EQ(
      environment->access_key + environment->secret_key + environment->session_token + environment->region,
      "EESsa-east-1");

  at_work["AWS_PROFILE"] = "other";
  EXPECT_THAT(std::string(settings_in(at_work).status().message()), HasSubstr("no profile other"));
}

TEST(S3, AddressesEncodeKeys) {
  const S3Settings amazon{.region = "eu-north-1"};
  EXPECT_EQ(s3_address(amazon, {"b", "a b/c+d.gz"}), "https://b.s3.eu-north-1.amazonaws.com/a%20b/c%2Bd.gz");
  EXPECT_EQ(s3_address(amazon, {"b.c", "k"}), "https://s3.eu-north-1.amazonaws.com/b.c/k");
  EXPECT_EQ(s3_address({.region = "r", .endpoint = "http://h:1"}, {"b", ""}, "x=1"), "http://h:1/b/?x=1");
  EXPECT_FALSE(s3_place("s3://").has_value());
  EXPECT_EQ(s3_place("s3://b")->bucket, "b");
  EXPECT_EQ(s3_place("s3://b/k/l")->key, "k/l");
}

TEST(S3, ParsesAPage) {
  const absl::StatusOr<S3Page> page = parse_s3_page(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><EncodingType>url</EncodingType>"
      "<IsTruncated>true</IsTruncated><Contents><Key>a%2Fb+c%26amp</Key><ETag>&quot;e&quot;</ETag><Size>12</"
      "Size>"
      "</Contents><Contents><Key>d</Key><Size>0</Size></Contents>"
      "<NextContinuationToken>t&amp;u</NextContinuationToken></ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "a/b c&amp");
  EXPECT_EQ(page->objects[0].etag, "\"e\"");
  EXPECT_EQ(page->objects[0].size, 12u);
  EXPECT_EQ(page->token, "t&u");
  EXPECT_EQ(s3_list_query("p/", page->token),
            "continuation-token=t%26u&encoding-type=url&list-type=2&prefix=p%2F");
}

TEST(S3, APageThatIsNoneOrIsCutIsRefused) {
  const std::string page =
      "<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>";
  ASSERT_TRUE(parse_s3_page(page).ok());
  for (size_t size = 0; size < page.size(); ++size)
    EXPECT_FALSE(parse_s3_page(page.substr(0, size)).ok()) << size;
  EXPECT_FALSE(parse_s3_page("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>").ok());
  EXPECT_FALSE(parse_s3_page("<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>").ok());
}

}  // namespace
}  // namespace doppel
