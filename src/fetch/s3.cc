#include "fetch/s3.h"

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "base/checksums.h"
#include "base/status.h"
#include "base/strings.h"

namespace doppel {
namespace {

constexpr std::string_view kHashOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Encodes all but the unreserved characters, as the signature wants it; `kept` stays, too.
std::string encoded(std::string_view text, std::string_view kept = "") {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || std::string_view("-._~").find(c) < 4 ||
        kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string sha256(std::string_view text, std::string_view more = "") {
  Sha256 sha;
  sha.update(text);
  sha.update(more);
  const Sha256::Digest digest = sha.finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// RFC 2104.
std::string hmac(std::string_view key, std::string_view text) {
  std::string inner = key.size() > 64 ? sha256(key) : std::string(key);
  inner.resize(64);
  std::string outer = inner;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha256(outer, sha256(inner, text));
}

std::string sha256_hex(std::string_view text) { return absl::BytesToHexString(absl_sv(sha256(text))); }

// The keys of one section of a file of the AWS tools. Returns false if it has no such section.
bool read_section(const std::string& path, const std::string& section,
                  std::map<std::string, std::string>& out) {
  std::ifstream file(path);
  bool inside = false, found = false;
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '[') {
      const std::string_view name = trimmed(text.substr(1, text.find(']') - 1));
      inside = name == section || name == "profile " + section;
      found = found || inside;
    } else if (const size_t equals = text.find('='); inside && equals != std::string_view::npos) {
      // A name that is there stays, because credentials come before the configuration.
      out.emplace(trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1)));
    }
  }
  return found;
}

}  // namespace

absl::StatusOr<S3Settings> s3_settings(const std::function<const char*(const char*)>& environment) {
  const auto get = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names) {
      if (const char* value = environment(name); value != nullptr && *value != '\0') return value;
    }
    return "";
  };
  const auto file = [&](const char* name, std::string_view usual) {
    std::string path = get({name});
    return path.empty() ? fmt::format("{}/.aws/{}", get({"HOME"}), usual) : path;
  };
  const std::string profile = get({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const std::string section = profile.empty() ? "default" : profile;
  std::map<std::string, std::string> stored;
  const bool in_credentials =
      read_section(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), section, stored);
  const bool in_config = read_section(file("AWS_CONFIG_FILE", "config"), section, stored);
  if (!profile.empty() && !in_credentials && !in_config)
    return absl::NotFoundError(fmt::format("AWS_PROFILE: no profile {} in the files of AWS", profile));

  S3Settings out{.access_key = get({"AWS_ACCESS_KEY_ID"}),
                 .secret_key = get({"AWS_SECRET_ACCESS_KEY"}),
                 .session_token = get({"AWS_SESSION_TOKEN"}),
                 .region = get({"AWS_REGION", "AWS_DEFAULT_REGION"}),
                 .endpoint = get({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"})};
  if (out.access_key.empty()) {
    out.access_key = stored["aws_access_key_id"];
    out.secret_key = stored["aws_secret_access_key"];
    out.session_token = stored["aws_session_token"];
  }
  if (out.region.empty()) out.region = stored["region"];
  if (out.region.empty()) out.region = "us-east-1";
  if (out.endpoint.empty()) out.endpoint = stored["endpoint_url"];
  while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
  return out;
}

std::optional<S3Place> s3_place(std::string_view url) {
  constexpr std::string_view kScheme = "s3://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  const size_t slash = std::min(url.find('/'), url.size());
  if (slash == 0) return std::nullopt;
  return S3Place{std::string(url.substr(0, slash)), std::string(url.substr(std::min(slash + 1, url.size())))};
}

std::string s3_address(const S3Settings& settings, const S3Place& place, std::string_view query) {
  const std::string key = encoded(place.key, "/");
  std::string out;
  if (!settings.endpoint.empty()) {
    out = fmt::format("{}/{}/{}", settings.endpoint, place.bucket, key);
  } else if (place.bucket.find('.') != std::string::npos) {
    // The certificate is for one label below the host.
    out = fmt::format("https://s3.{}.amazonaws.com/{}/{}", settings.region, place.bucket, key);
  } else {
    out = fmt::format("https://{}.s3.{}.amazonaws.com/{}", place.bucket, settings.region, key);
  }
  return query.empty() ? out : fmt::format("{}?{}", out, query);
}

std::vector<std::string> s3_headers(const S3Settings& settings, const std::string& address, std::time_t now) {
  if (settings.access_key.empty()) return {};
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%dT%H%M%SZ", &utc);
  const std::string_view day(time, 8);

  const size_t host_at = address.find("://") + 3;
  const size_t path_at = address.find('/', host_at);
  const std::string_view host = std::string_view(address).substr(host_at, path_at - host_at);
  const std::string_view rest = std::string_view(address).substr(path_at);
  const size_t question = std::min(rest.find('?'), rest.size());
  const std::string_view query = rest.substr(std::min(question + 1, rest.size()));

  std::vector<std::pair<std::string, std::string>> headers{
      {"host", std::string(host)},
      {"x-amz-content-sha256", std::string(kHashOfNothing)},
      {"x-amz-date", time}};
  if (!settings.session_token.empty()) headers.emplace_back("x-amz-security-token", settings.session_token);
  std::string names, lines;
  for (const auto& [name, value] : headers) {
    names += names.empty() ? name : ";" + name;
    lines += fmt::format("{}:{}\n", name, value);
  }
  const std::string request =
      fmt::format("GET\n{}\n{}\n{}\n{}\n{}", rest.substr(0, question), query, lines, names, kHashOfNothing);
  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, settings.region);
  const std::string to_sign = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, sha256_hex(request));
  std::string key = hmac("AWS4" + settings.secret_key, day);
  for (const std::string_view part :
       {std::string_view(settings.region), std::string_view("s3"), std::string_view("aws4_request")})
    key = hmac(key, part);

  std::vector<std::string> out;
  for (size_t i = 1; i < headers.size(); ++i)
    out.push_back(fmt::format("{}: {}", headers[i].first, headers[i].second));
  out.push_back(
      fmt::format("Authorization: AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                  settings.access_key, scope, names, absl::BytesToHexString(hmac(key, to_sign))));
  return out;
}

std::string s3_list_query(std::string_view prefix, std::string_view token) {
  std::string out = token.empty() ? "" : fmt::format("continuation-token={}&", encoded(token));
  return out + fmt::format("encoding-type=url&list-type=2&prefix={}", encoded(prefix));
}

namespace {

std::string without_entities(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '&' ? text.find(';', at) : std::string_view::npos;
    const std::string_view name = end == std::string_view::npos ? "" : text.substr(at + 1, end - at - 1);
    constexpr std::pair<std::string_view, char> kEntities[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"#34", '"'}, {"#39", '\''}};
    const auto* const known = std::find_if(std::begin(kEntities), std::end(kEntities),
                                           [&](const auto& entity) { return entity.first == name; });
    if (known != std::end(kEntities)) {
      out += known->second;
      at = end + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

// The text of the first element of this name; "" if there is none.
std::string_view element(std::string_view xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
  const size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return "";
  const size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return "";
  return xml.substr(begin + open.size(), end - begin - open.size());
}

}  // namespace

absl::StatusOr<S3Page> parse_s3_page(std::string_view xml) {
  const size_t begin = xml.find("<ListBucketResult");
  if (begin == std::string_view::npos || xml.find("</ListBucketResult>") == std::string_view::npos)
    return absl::DataLossError("the server's answer is no list of a bucket");
  S3Page page;
  const bool encoded_keys = element(xml, "EncodingType") == "url";
  constexpr std::string_view kOpen = "<Contents>", kClose = "</Contents>";
  for (size_t at = begin; (at = xml.find(kOpen, at)) != std::string_view::npos;) {
    const size_t end = xml.find(kClose, at);
    if (end == std::string_view::npos) break;
    const std::string_view one = xml.substr(at, end - at);
    S3Object object{.key = without_entities(element(one, "Key")),
                    .etag = without_entities(element(one, "ETag"))};
    if (encoded_keys) decode_form(std::exchange(object.key, {}), object.key);
    const std::string_view size = element(one, "Size");
    if (!whole_number(size, object.size))
      return absl::DataLossError(fmt::format("the server's list has no size for {}", object.key));
    page.objects.push_back(std::move(object));
    at = end;
  }
  if (element(xml, "IsTruncated") == "true") {
    page.token = without_entities(element(xml, "NextContinuationToken"));
    if (page.token.empty())
      return absl::DataLossError("the server's list has another page, but does not say which");
  }
  return page;
}

std::string s3_problem(std::string_view xml) {
  const std::string_view code = element(xml, "Code"), message = element(xml, "Message");
  return code.empty() ? "" : without_entities(fmt::format("{}: {}", code, message));
}

}  // namespace doppel
