#include "http/router.h"

#include <gmock/gmock.h>

namespace doppel::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Handler says(const std::string& text) {
  return [text](const Request&) { return Response{.body = text}; };
}
std::string answer(const Router& router, std::string_view method, std::string_view path) {
  const Router::Match match = router.find(method, path);
  return match.route == nullptr ? "" : match.route->handler({}).body;
}

TEST(Router, FindsTheRouteOfAPath) {
  Router router;
  router.add("GET", "/", says("root"), Access::open);
  router.add("GET", "/v1/documents/{id}", says("one"), Access::open);
  router.add("DELETE", "/v1/documents/{id}", says("gone"), Access::token);
  router.add("GET", "/v1/documents/all", says("all"), Access::open);
  EXPECT_EQ(answer(router, "GET", "/"), "root");
  EXPECT_EQ(answer(router, "GET", "/v1/documents/7"), "one");
  EXPECT_EQ(answer(router, "DELETE", "/v1/documents/7"), "gone");
  EXPECT_EQ(answer(router, "HEAD", "/v1/documents/7"), "one");
  EXPECT_EQ(answer(router, "GET", "/v1/documents/all"), "all");
  EXPECT_EQ(answer(router, "GET", "/v1/documents/"), "");
  EXPECT_EQ(answer(router, "GET", "/v1/documents/7/"), "");
  EXPECT_EQ(answer(router, "GET", "/v1/documents"), "");
  EXPECT_THAT(router.find("PUT", "/v1/documents/7").allowed, ElementsAre("GET", "DELETE", "HEAD"));
  EXPECT_THAT(router.find("PUT", "/v2").allowed, IsEmpty());
  EXPECT_THAT(router.find("GET", "/v1/documents/a%2Fb%20c+d").params, ElementsAre(Pair("id", "a/b c+d")));
  EXPECT_TRUE(router.find("GET", "/v1/documents/%4").broken);
  EXPECT_TRUE(router.find("GET", "/v1/documents/%zz").broken);
  router.add("GET", "/", says("new root"), Access::open);
  EXPECT_EQ(answer(router, "GET", "/"), "new root");
}

TEST(Query, IsDecoded) {
  EXPECT_THAT(*parse_query("a=1&b=x+y%26&&c&=d&a=2"),
              ElementsAre(Pair("a", "1"), Pair("b", "x y&"), Pair("c", ""), Pair("", "d"), Pair("a", "2")));
  EXPECT_THAT(*parse_query(""), IsEmpty());
  EXPECT_EQ(parse_query("a=%"), std::nullopt);
}

TEST(Token, OnlyTheRightOne) {
  const std::string token = "0123456789abcdef";
  EXPECT_TRUE(bearer_is("Bearer " + token, token));
  EXPECT_TRUE(bearer_is("bearer  " + token, token));
  EXPECT_FALSE(bearer_is("Bearer " + token + "0", token));
  EXPECT_FALSE(bearer_is("Bearer " + token + token, token));
  EXPECT_FALSE(bearer_is("Bearer 0123456789abcdeF", token));
  EXPECT_FALSE(bearer_is("Bearer 1123456789abcdef", token));
  EXPECT_FALSE(bearer_is("Bearer 0123456789abcde", token));
  EXPECT_FALSE(bearer_is("Bearer ", token));
  EXPECT_FALSE(bearer_is("", token));
  EXPECT_FALSE(bearer_is("Basic " + token, token));
  EXPECT_FALSE(bearer_is("Bearer ", ""));
}

TEST(Error, CannotBreakItsJson) {
  EXPECT_EQ(error(404, "no \"é\\\n\xff").body,
            "{\"error\":{\"status\":404,\"message\":\"no \\\"é\\\\\\n\xef\xbf\xbd\"}}\n");
}

}  // namespace
}  // namespace doppel::http
