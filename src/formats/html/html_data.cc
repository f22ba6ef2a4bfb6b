#include "formats/html/html_data.h"

#include <simdjson.h>

#include <algorithm>

#include "formats/bytes/http.h"

namespace doppel {
namespace {

constexpr std::string_view kProducts[] = {"Product", "ProductGroup"};
constexpr int kDepth = 16;  // enough for the data of pages: a graph, an article, and what contains it

bool is_product(simdjson::dom::object object) {
  std::string_view type;
  return object["@type"].get(type) == simdjson::SUCCESS &&
         std::find(std::begin(kProducts), std::end(kProducts), type) != std::end(kProducts);
}

void find_body(simdjson::dom::element element, int depth, std::string_view& longest) {
  if (depth > kDepth) return;
  simdjson::dom::array array;
  simdjson::dom::object object;
  if (element.get(array) == simdjson::SUCCESS) {
    for (const simdjson::dom::element item : array) find_body(item, depth + 1, longest);
  } else if (element.get(object) == simdjson::SUCCESS) {
    const std::string_view wanted = is_product(object) ? "description" : "articleBody";
    for (const auto& [key, value] : object) {
      std::string_view text;
      if (key != wanted || value.get(text) != simdjson::SUCCESS) {
        find_body(value, depth + 1, longest);
      } else if (text.size() > longest.size()) {
        longest = text;
      }
    }
  }
}

}  // namespace

bool names_product(std::string_view json) {
  constexpr std::string_view kProduct = "\"Product", kWork = "\"CreativeWork\"";
  for (size_t at = json.find(kProduct); at != json.npos; at = json.find(kProduct, at + kProduct.size())) {
    const size_t begin = json.substr(0, at).find_last_of("[{");
    const size_t end = json.find_first_of("]}", at);
    if (begin == json.npos || json[begin] == '{') return true;
    if (json.substr(begin, end - begin).find(kWork) == json.npos) return true;
  }
  return false;
}

ArticleData::ArticleData() = default;
ArticleData::~ArticleData() = default;

bool ArticleData::is_data(std::string_view type) {
  constexpr std::string_view kType = "application/ld+json";
  while (!type.empty() && type.front() == ' ') type.remove_prefix(1);
  return equal_ignoring_case(type.substr(0, kType.size()), kType);
}

bool ArticleData::has_product() const { return names_product(scripts_); }

std::string_view ArticleData::body() {
  body_.clear();
  if (scripts_.find("articleBody") == std::string::npos && !has_product()) return body_;
  if (parser_ == nullptr) parser_ = std::make_unique<simdjson::dom::parser>();
  for (size_t begin = 0; begin < scripts_.size();) {
    const size_t end = std::min(scripts_.find('\0', begin + 1), scripts_.size());
    json_.assign(scripts_, begin + 1, end - begin - 1);
    begin = end;
    // JSON does not allow line feeds in strings, but pages often have them.
    for (char& c : json_) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    simdjson::dom::element root;
    if (parser_->parse(json_).get(root) != simdjson::SUCCESS) continue;
    std::string_view longest = body_;
    find_body(root, 0, longest);
    if (longest.size() > body_.size()) body_.assign(longest);
  }
  return body_;
}

}  // namespace doppel
