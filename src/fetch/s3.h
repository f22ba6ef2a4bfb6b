#pragma once
// Asks S3 and servers that speak like it: where an object is, who asks, and what a bucket holds.

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel {

struct S3Settings {
  std::string access_key, secret_key, session_token;  // without a key, requests are not signed
  std::string region;
  std::string endpoint;  // of another server than Amazon's: "https://minio.example:9000"
};

// Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_DEFAULT_REGION,
// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and AWS_PROFILE, and the files of AWS_SHARED_CREDENTIALS_FILE and
// AWS_CONFIG_FILE (~/.aws/credentials, ~/.aws/config). NotFound: AWS_PROFILE names no profile.
absl::StatusOr<S3Settings> s3_settings(const std::function<const char*(const char*)>& environment);

struct S3Place {
  std::string bucket, key;
};

// Of "s3://BUCKET/KEY"; nullopt if it is another URL, or names no bucket.
std::optional<S3Place> s3_place(std::string_view url);

// The address of a bucket or an object. `query` is "" or "a=b&c=d", encoded and in the order of its names.
std::string s3_address(const S3Settings& settings, const S3Place& place, std::string_view query = "");

// The headers that sign a GET of this address (Signature Version 4).
std::vector<std::string> s3_headers(const S3Settings& settings, const std::string& address, std::time_t now);

// The query that lists what begins with `prefix`, from a continuation token on ("": from the beginning).
std::string s3_list_query(std::string_view prefix, std::string_view token);

struct S3Object {
  std::string key;
  uint64_t size = 0;
  std::string etag;
};

struct S3Page {
  std::vector<S3Object> objects;
  std::string token;  // of the next page; "": this is the last one
};

// Parses the answer to a list. DataLoss: it is not one.
absl::StatusOr<S3Page> parse_s3_page(std::string_view xml);

// The code and the message in the answer to a request that failed: "NoSuchBucket: ..."; "" if there is none.
std::string s3_problem(std::string_view xml);

}  // namespace doppel
