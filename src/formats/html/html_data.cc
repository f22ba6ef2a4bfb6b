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

// One pass: a page may name a thousand products in one list.
bool names_product(std::string_view json, uint64_t& steps) {
  constexpr std::string_view kProduct = "\"Product", kWork = "\"CreativeWork\"";
  if (json.find(kProduct) == json.npos) return false;
  char around = '{';     // the last bracket that opened
  bool work = false;     // a CreativeWork came behind it
  bool product = false;  // a product waits for a CreativeWork before the next bracket that closes
  for (size_t at = 0; at < json.size(); ++at, ++steps) {
    switch (json[at]) {
      case '[':
      case '{':
        around = json[at];
        work = false;
        break;
      case ']':
      case '}':
        if (product) return true;
        break;
      case '"':
        if (json.substr(at).starts_with(kWork)) {
          work = true;
          product = false;
        } else if (json.substr(at).starts_with(kProduct)) {
          if (around == '{') return true;
          product = !work;
        }
        break;
      default:
        break;
    }
  }
  return product;
}

ArticleData::ArticleData() = default;
ArticleData::~ArticleData() = default;

bool ArticleData::is_data(std::string_view type) {
  constexpr std::string_view kType = "application/ld+json";
  while (!type.empty() && type.front() == ' ') type.remove_prefix(1);
  return equal_ignoring_case(type.substr(0, kType.size()), kType);
}

bool ArticleData::has_product() { return names_product(scripts_, steps_); }

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
    steps_ += json_.size();
    simdjson::dom::element root;
    if (parser_->parse(json_).get(root) != simdjson::SUCCESS) continue;
    std::string_view longest = body_;
    find_body(root, 0, longest);
    if (longest.size() > body_.size()) body_.assign(longest);
  }
  return body_;
}

}  // namespace doppel
