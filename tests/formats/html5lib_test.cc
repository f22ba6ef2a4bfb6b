// html5lib's tests as a referee of the tokens and of the order and nesting of texts. They are not part of
// doppel: DOPPEL_HTML5LIB_TESTS names a checkout of github.com/html5lib/html5lib-tests, and without it
// nothing is tested.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "formats/html/html_parser.h"
#include "formats/html/html_tokens.h"

namespace doppel {
namespace {

std::vector<std::filesystem::path> files_of(const char* folder, const char* extension) {
  std::vector<std::filesystem::path> out;
  const char* root = std::getenv("DOPPEL_HTML5LIB_TESTS");
  if (root == nullptr) return out;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(root) / folder)) {
    if (entry.path().extension() == extension) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// "\u0041" in a text that the file escapes twice. False for halves of surrogate pairs, which UTF-8 lacks.
bool unescape(std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 2, "\\u") != 0) {
      out += text[at];
      continue;
    }
    const auto code = static_cast<uint32_t>(std::stoul(text.substr(at + 2, 4), nullptr, 16));
    at += 5;
    if (code >= 0xd800 && code < 0xe000) return false;
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 63));
    } else {
      out += static_cast<char>(0xe0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 63));
      out += static_cast<char>(0x80 | (code & 63));
    }
  }
  text = out;
  return true;
}

template <typename Value>
Value value_or(simdjson::simdjson_result<simdjson::dom::element> found, Value other) {
  Value value{};
  return found.get(value) == simdjson::SUCCESS ? value : other;
}

std::string start_tag(std::string_view name, const std::map<std::string, std::string>& attributes,
                      bool closed) {
  std::string out = fmt::format("<{}", name);
  for (const auto& [key, value] : attributes) out += fmt::format(" {}={}", key, value);
  return out + (closed ? "/>\n" : ">\n");
}

// One line for each token; the standard's tokens are those of characters, ours are longer texts.
class Lines {
 public:
  void text(std::string_view text) { text_ += text; }
  void other(std::string_view line) {
    if (!text_.empty()) out_ += "\"" + text_ + "\"\n";
    text_.clear();
    out_ += line;
  }
  std::string take() {
    other("");
    return out_;
  }

 private:
  std::string out_, text_;
};

std::string ours(std::string_view input, std::string_view state, std::string_view last) {
  Lines lines;
  HtmlTokens tokens;
  tokens.begin(input, true);
  if (state == "RCDATA state") tokens.read_as(HtmlContent::rcdata, last);
  if (state == "RAWTEXT state") tokens.read_as(HtmlContent::raw, last);
  if (state == "Script data state") tokens.read_as(HtmlContent::script, last);
  if (state == "PLAINTEXT state") tokens.read_as(HtmlContent::plain, last);
  for (;;) {
    const HtmlToken& token = tokens.next();
    switch (token.kind) {
      case HtmlToken::Kind::done:
        return lines.take();
      case HtmlToken::Kind::text:
        lines.text(token.text);
        break;
      case HtmlToken::Kind::doctype:
        lines.other("<!DOCTYPE>\n");
        break;
      case HtmlToken::Kind::comment:
        lines.other(fmt::format("<!--{}-->\n", token.text));
        break;
      case HtmlToken::Kind::end:
        lines.other(fmt::format("</{}>\n", lowered(token.name)));
        break;
      case HtmlToken::Kind::start: {
        std::map<std::string, std::string> attributes;
        for (const HtmlAttributeValue& one : tokens.attributes())
          attributes.emplace(lowered(one.name), one.value);
        lines.other(start_tag(lowered(token.name), attributes, token.self_closing));
        break;
      }
    }
  }
}

TEST(Html5lib, Tokens) {
  const auto files = files_of("tokenizer", ".test");
  if (files.empty()) GTEST_SKIP() << "DOPPEL_HTML5LIB_TESTS names no checkout";
  simdjson::dom::parser parser;
  int passed = 0;
  std::map<std::string, int> left_out;
  for (const auto& file : files) {
    simdjson::dom::element root = parser.load(file.string());
    simdjson::dom::array tests;
    if (root["tests"].get(tests) != simdjson::SUCCESS) {
      ++left_out[file.filename().string() + ": of XML"];
      continue;
    }
    for (simdjson::dom::element test : tests) {
      const bool escaped = value_or(test["doubleEscaped"], false);
      std::string input{std::string_view(test["input"])};
      bool whole = !escaped || unescape(input);
      Lines lines;
      for (simdjson::dom::array token : simdjson::dom::array(test["output"])) {
        const std::string_view kind = token.at(0);
        std::string text;
        if (kind != "DOCTYPE") text = std::string_view(token.at(1));
        if (escaped) whole = unescape(text) && whole;
        if (kind == "Character") lines.text(text);
        if (kind == "DOCTYPE") lines.other("<!DOCTYPE>\n");
        if (kind == "Comment") lines.other(fmt::format("<!--{}-->\n", text));
        if (kind == "EndTag") lines.other(fmt::format("</{}>\n", text));
        if (kind != "StartTag") continue;
        std::map<std::string, std::string> attributes;
        for (const auto& [key, value] : simdjson::dom::object(token.at(2))) {
          std::string name(key), content{std::string_view(value)};
          if (escaped) whole = unescape(name) && unescape(content) && whole;
          attributes.emplace(name, content);
        }
        lines.other(start_tag(text, attributes, value_or(token.at(3), false)));
      }
      const std::string expected = lines.take();
      if (!whole) {
        ++left_out["half of a surrogate pair"];
        continue;
      }
      if (input.find('\0') != std::string::npos) {
        ++left_out["a zero byte, which the extractor replaces before"];
        continue;
      }
      replace_all(input, "\r\n", "\n");
      replace_all(input, "\r", "\n");
      std::vector<std::string> states{"Data state"};
      simdjson::dom::array named;
      if (test["initialStates"].get(named) == simdjson::SUCCESS) {
        states.clear();
        for (std::string_view state : named) states.emplace_back(state);
      }
      const std::string_view last = value_or(test["lastStartTag"], std::string_view());
      for (const std::string& state : states) {
        if (state == "CDATA section state") {
          ++left_out["begins in a CDATA section"];
          continue;
        }
        EXPECT_EQ(ours(input, state, last), expected)
            << file.filename() << " " << state << ": " << std::string_view(test["description"]) << "\n"
            << input;
        ++passed;
      }
    }
  }
  for (const auto& [reason, count] : left_out) fmt::print("left out: {} ({})\n", reason, count);
  fmt::print("{} run\n", passed);
}

// What a tree says of its texts: the blocks around each, without those that a page may leave out, and without
// blocks that have no text.
class Nesting {
 public:
  void start(std::string_view name) { open_.push_back({std::string(name), false}); }
  void end() {
    if (open_.back().second) out_ += "</" + open_.back().first + ">";
    open_.pop_back();
  }
  void text(std::string_view text) {
    for (const char c : text) {
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f') continue;
      for (auto& [name, shown] : open_) {
        if (!shown) out_ += "<" + name + ">";
        shown = true;
      }
      out_ += c;
    }
  }
  std::string take() {
    while (!open_.empty()) end();
    return std::exchange(out_, {});
  }

 private:
  std::vector<std::pair<std::string, bool>> open_;
  std::string out_;
};

bool counts(std::string_view name) {
  const Element& element = element_of(name, html_name_key(name));
  for (ElementRole role : {ElementRole::html, ElementRole::head, ElementRole::body, ElementRole::rows,
                           ElementRole::row, ElementRole::foreign})
    if (element.role == role) return false;
  return element.kind != ElementKind::in_line && element.kind != ElementKind::link && !element.is_void &&
         element.kind != ElementKind::empty;
}

class NestingOfPage final : public HtmlEvents {
 public:
  void start(const Element& element, HtmlAttributes) override {
    open_.push_back(counts(element.name));
    if (open_.back()) nesting_.start(element.name);
  }
  void end() override {
    if (open_.back()) nesting_.end();
    open_.pop_back();
  }
  void end_link() override {}
  void text(std::string_view text) override { nesting_.text(text); }
  std::string take() { return nesting_.take(); }

 private:
  std::vector<bool> open_;
  Nesting nesting_;
};

// The tree as html5lib writes it: a node in each line, two spaces for each level.
std::string nesting_of_tree(const std::vector<std::string>& lines) {
  Nesting nesting;
  std::vector<bool> open;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.size() < 3 || line.compare(0, 2, "| ") != 0) continue;
    const size_t depth = (line.find_first_not_of(' ', 2) - 2) / 2;
    std::string node = line.substr(2 + 2 * depth);
    if (node.front() != '<' && node.front() != '"') continue;  // attributes, "content"
    while (open.size() > depth) {
      if (open.back()) nesting.end();
      open.pop_back();
    }
    if (node.front() == '"') {
      while (node.size() < 2 || node.back() != '"') {
        if (++i >= lines.size()) break;
        node += "\n" + lines[i];
      }
      nesting.text(node.substr(1, node.size() - 2));
      continue;
    }
    if (node.compare(0, 2, "<!") == 0) {
      while (node.back() != '>' && i + 1 < lines.size()) node += lines[++i];
      continue;
    }
    std::string name = node.substr(1, node.size() - 2);
    if (const size_t space = name.find(' '); space != std::string::npos)
      name = lowered(name.substr(space + 1));
    while (open.size() < depth) open.push_back(false);  // a template's content
    open.push_back(counts(name));
    if (open.back()) nesting.start(name);
  }
  return nesting.take();
}

std::string sorted(std::string text) {
  for (const char* tag : {"<table>", "</table>"}) replace_all(text, tag, "");
  std::sort(text.begin(), text.end());
  return text;
}

// Why a page's texts differ; "" if they should not.
std::string_view reason(std::string_view page, const std::string& found, const std::string& expected) {
  const auto has = [page](std::string_view part) { return page.find(part) != std::string_view::npos; };
  if (has("<frameset>")) return "a page of frames keeps what is beside its frames";
  if (has("<selectedcontent>")) return "a button does not repeat the chosen option";
  if (has("<noscript>")) return "a noscript is hidden as if scripts run";
  if (has("<table>") && (sorted(found) == sorted(expected) || has("<select>")))
    return "text in a table outside of its cells stays in its place";
  if (has("<svg><td>")) return "a cell ends the element of its name in svg";
  if (has("<template><col>")) return "a template of columns keeps its text";
  if (has("<select>")) return "a select keeps the elements in it";
  return "";
}

TEST(Html5lib, TheNestingOfTexts) {
  const auto files = files_of("tree-construction", ".dat");
  if (files.empty()) GTEST_SKIP() << "DOPPEL_HTML5LIB_TESTS names no checkout";
  int same = 0, all = 0, left_out = 0;
  std::map<std::string, int> reasons;
  for (const auto& file : files) {
    std::ifstream in(file);
    std::map<std::string, std::vector<std::string>> test;
    std::string section, line;
    int number = 0;
    const auto judge = [&] {
      if (test.count("#data") == 0) return;
      ++number;
      std::string page;
      for (const std::string& one : test["#data"]) page += (page.empty() ? "" : "\n") + one;
      if (test.count("#document-fragment") != 0 || test.count("#script-on") != 0 ||
          page.find('\0') != std::string::npos) {
        ++left_out;
        return;
      }
      ++all;
      NestingOfPage events;
      HtmlParser parser;
      (void)parser.parse(page, events);
      const std::string found = events.take(), expected = nesting_of_tree(test["#document"]);
      if (found == expected) {
        ++same;
        return;
      }
      const std::string_view why = reason(page, found, expected);
      ++reasons[std::string(why)];
      EXPECT_NE(why, "") << file.filename() << " " << number << ": " << page << "\n"
                         << expected << "\n"
                         << found;
    };
    while (std::getline(in, line)) {
      if (line == "#data") {
        judge();
        test.clear();
      }
      if (!line.empty() && line.front() == '#' && line.find(' ') == std::string::npos && line.size() > 1) {
        section = line;
        test[section];
      } else {
        test[section].push_back(line);
      }
    }
    judge();
  }
  fmt::print("{} of {} the same, {} left out (fragments, scripts, zero bytes)\n", same, all, left_out);
  for (const auto& [why, count] : reasons) fmt::print("{} differ: {}\n", count, why);
  EXPECT_GT(same, 1400);
}

}  // namespace
}  // namespace doppel
