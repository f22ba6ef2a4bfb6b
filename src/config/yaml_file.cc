#include "config/yaml_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include "base/strings.h"
#include "config/values.h"
#include "fmt/format.h"

namespace doppel {
namespace {

constexpr size_t kMostBytes = 1 << 20;  // a larger file is not a configuration, but a wrong path

// Returns what is wrong, or an empty text.
std::string read_text(const std::string& file, std::string& text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "rb"), std::fclose);
  if (in == nullptr) return std::strerror(errno);
  text.assign(kMostBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), in.get()));
  if (std::ferror(in.get()) != 0) return std::strerror(errno);
  return text.size() > kMostBytes ? "larger than 1 MiB; this is not a configuration" : "";
}

std::string kind(const YAML::Node& node) {
  if (node.IsMap()) return "a group of settings";
  if (node.IsSequence()) return "a list";
  if (node.IsNull()) return "nothing";
  return shown(node.Scalar());
}

class Reader {
 public:
  Reader(std::string file, const SetValue& set, std::vector<std::string>& errors)
      : file_(std::move(file)), set_(set), errors_(errors) {}

  void read(const std::string& text) {
    try {
      std::vector<YAML::Node> documents = YAML::LoadAll(text);
      if (documents.size() > 1)
        error(documents[1].Mark(), "a second document ('---') begins here; one is expected");
      if (!documents.empty() && !documents[0].IsNull()) read_group(documents[0], "");
    } catch (const YAML::Exception& e) {
      error(e.mark, "this is not YAML: " + e.msg);
    }
  }

 private:
  std::string place(const YAML::Mark& mark) const {
    return mark.is_null() ? file_ : fmt::format("{}:{}", file_, mark.line + 1);
  }
  void error(const YAML::Mark& mark, const std::string& message) {
    errors_.push_back(fmt::format("{}: {}", place(mark), message));
  }

  // `prefix` is "" or such as "state.".
  void read_group(const YAML::Node& group, const std::string& prefix) {
    if (!group.IsMap()) {
      std::string what = prefix.empty() ? "the file" : prefix.substr(0, prefix.size() - 1);
      return error(group.Mark(),
                   fmt::format("{}: expected lines of the form 'key: value', not {}", what, kind(group)));
    }
    for (const auto& entry : group) read_entry(entry.first, entry.second, prefix);
  }

  void read_entry(const YAML::Node& name_node, const YAML::Node& value, const std::string& prefix) {
    const YAML::Mark mark = name_node.Mark();
    if (!name_node.IsScalar()) return error(mark, "a key must be a word, not " + kind(name_node));
    std::string name = prefix + name_node.Scalar();

    std::vector<std::string> groups = group_names();
    if (std::find(groups.begin(), groups.end(), name) != groups.end()) {
      if (!value.IsNull()) read_group(value, name + ".");
      return;
    }
    const Key* key = find_key(name);
    std::string rest;
    if (const Key* named = key == nullptr ? find_named(name, rest) : nullptr) {
      RawValue raw{.list = true, .items = {}};
      YAML::Node group;
      group[rest] = value;
      flatten(*named, group, "", raw.items);
      return set_(*named, raw, place(mark));
    }
    if (key == nullptr) {
      if (const std::string gone = retired(name); !gone.empty()) return error(mark, gone);
      std::vector<std::string> names = key_names();
      names.insert(names.end(), groups.begin(), groups.end());
      return error(mark, fmt::format("{}: no such key{}", shown(name), did_you_mean(name, names)));
    }
    auto [first, fresh] = lines_.emplace(name, mark.line + 1);
    if (!fresh) return error(mark, fmt::format("{}: set twice, first in line {}", name, first->second));
    read_value(*key, mark, value);
  }

  void read_value(const Key& key, const YAML::Mark& mark, const YAML::Node& value) {
    RawValue raw;
    if (value.IsNull()) {
      return error(mark, fmt::format("{}: no value; leave the line out for the default, {}", key.info.name,
                                     key.info.default_value));
    }
    if (value.IsMap() && key.info.type.find("names and values") != std::string::npos) {
      raw.list = true;
      flatten(key, value, "", raw.items);
      return set_(key, raw, place(mark));
    }
    if (value.IsMap())
      return error(mark,
                   fmt::format("{}: expected {}, found a group of settings", key.info.name, key.info.type));
    if (value.IsSequence()) {
      raw.list = true;
      for (const YAML::Node& item : value) {
        if (!item.IsScalar())
          return error(item.Mark(), fmt::format("{}: {} in the list", key.info.name, kind(item)));
        raw.items.push_back(item.Scalar());
      }
    } else {
      raw.items.push_back(value.Scalar());
    }
    set_(key, raw, place(mark));
  }

  // Turns {a: {b: c}} and {a.b: c} into "a.b=c". For named values, {a: {file: PATH}} stands for the file's
  // content.
  void flatten(const Key& key, const YAML::Node& group, const std::string& prefix,
               std::vector<std::string>& out) {
    for (const auto& entry : group) {
      const std::string name = prefix + entry.first.as<std::string>("");
      const YAML::Node& value = entry.second;
      if (key.named_values && value.IsMap() && value.size() == 1 && value["file"]) {
        add_from_file(key, name, value["file"], out);
      } else if (value.IsMap()) {
        flatten(key, value, name + ".", out);
      } else if (!value.IsScalar()) {
        error(entry.first.Mark(), fmt::format("{}.{}: expected a value, not {}", key.info.name, name,
                                              value.IsNull() ? "nothing" : "a list"));
      } else {
        out.push_back(name + "=" + value.Scalar());
      }
    }
  }

  // Reads a value, usually a mounted secret, from a file. Removes line ends at the end of the file.
  void add_from_file(const Key& key, const std::string& name, const YAML::Node& path,
                     std::vector<std::string>& out) {
    const std::string where = fmt::format("{}.{}", key.info.name, name);
    if (!path.IsScalar()) return error(path.Mark(), where + ": file: expected the path of a file");
    std::string content;
    const std::string problem = read_text(path.Scalar(), content);
    if (!problem.empty())
      return error(path.Mark(), fmt::format("{}: file {}: {}", where, shown(path.Scalar()), problem));
    while (content.ends_with('\n') || content.ends_with('\r')) content.pop_back();
    out.push_back(name + "=" + content);
  }

  std::string file_;
  const SetValue& set_;
  std::vector<std::string>& errors_;
  std::map<std::string, int> lines_;
};

}  // namespace

void parse_yaml(const std::string& text, const std::string& file, const SetValue& set,
                std::vector<std::string>& errors) {
  Reader(file, set, errors).read(text);
}

void read_yaml_file(const std::string& file, const SetValue& set, std::vector<std::string>& errors) {
  std::string text;
  const std::string problem = read_text(file, text);
  if (problem.empty()) return parse_yaml(text, file, set, errors);
  errors.push_back(fmt::format("{}: {}", file, problem));
}

}  // namespace doppel
