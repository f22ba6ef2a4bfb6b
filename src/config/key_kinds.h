#pragma once
// The kinds of settings. Each kind defines the valid values, the messages for invalid ones, and how a value
// is written back.

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "config/keys.h"
#include "config/values.h"
#include "engine/settings.h"
#include "fmt/format.h"

namespace doppel {

// Every key wraps a member of Options. `at` is a function Options& -> T& that returns it; this calls it on a
// const Options, for reading.
template <typename At>
const auto& read(const At& at, const Options& options) {
  return at(const_cast<Options&>(options));
}

// A setter for keys with one value: it refuses lists and passes the text to `set_text`.
inline std::function<std::string(Options&, const RawValue&)> single(
    std::string type, std::function<std::string(Options&, const std::string&)> set_text) {
  return [type = std::move(type), set_text = std::move(set_text)](Options& options, const RawValue& value) {
    if (value.list) return fmt::format("expected one {}, found a list", type);
    return set_text(options, value.items.front());
  };
}

// A number with at most six decimals, so that reading back what was written gives the same double. `least`
// and `most` are in millionths. `usual` is the range that people normally use, such as "0.5 to 0.95", for
// messages.
template <typename At>
Key number_key(std::string name, At at, int64_t least, int64_t most, const std::string& usual,
               std::string help) {
  Key key;
  key.info = {std::move(name),
              fmt::format("number, {} to {}", write_millionths(least), write_millionths(most)), "",
              std::move(help)};
  key.set = single("number", [=](Options& options, const std::string& text) -> std::string {
    auto millionths = parse_millionths(text);
    if (!millionths)
      return fmt::format("{} is not a number with at most six digits after the point", shown(text));
    if (*millionths < least || *millionths > most) {
      return fmt::format("{} is not between {} and {} ({} are usual)", shown(text), write_millionths(least),
                         write_millionths(most), usual);
    }
    at(options) = static_cast<double>(*millionths) / kMillion;
    return {};
  });
  key.get = [=](const Options& options) {
    return write_millionths(std::llround(read(at, options) * kMillion));
  };
  return key;
}

template <typename At>
Key integer_key(std::string name, At at, uint64_t least, uint64_t most, std::string help) {
  Key key;
  key.info = {std::move(name), fmt::format("integer, {} to {}", least, most), "", std::move(help)};
  key.set = single("integer", [=](Options& options, const std::string& text) -> std::string {
    auto value = parse_integer(text);
    if (!value) return fmt::format("{} is not an integer", shown(text));
    if (*value < least || *value > most)
      return fmt::format("{} is not between {} and {}", shown(text), least, most);
    at(options) = static_cast<std::remove_reference_t<decltype(at(options))>>(*value);
    return {};
  });
  key.get = [=](const Options& options) { return fmt::format("{}", read(at, options)); };
  return key;
}

template <typename At>
Key integer_key(const Limit& limit, At at, std::string help) {
  return integer_key(std::string(limit.name), at, static_cast<uint64_t>(limit.least),
                     static_cast<uint64_t>(limit.most), std::move(help));
}

template <typename At>
Key size_key(std::string name, At at, uint64_t least, uint64_t most, std::string help) {
  Key key;
  key.info = {std::move(name), fmt::format("size, {} to {}", write_size(least), write_size(most)), "",
              std::move(help)};
  key.set = single("size", [=](Options& options, const std::string& text) -> std::string {
    auto bytes = parse_size(text);
    if (!bytes) return fmt::format("{} is not a size (such as 1000, 64KiB, 8MiB, 1GB)", shown(text));
    if (*bytes < least || *bytes > most) {
      return fmt::format("{} is not between {} and {}", shown(text), write_size(least), write_size(most));
    }
    at(options) = *bytes;
    return {};
  });
  key.get = [=](const Options& options) { return write_size(read(at, options)); };
  return key;
}

template <typename At>
Key text_key(std::string name, At at, std::string help) {
  Key key;
  key.info = {std::move(name), "text", "", std::move(help)};
  key.set = single("text", [=](Options& options, const std::string& text) -> std::string {
    at(options) = text;
    return {};
  });
  key.get = [=](const Options& options) { return write_text(read(at, options)); };
  return key;
}

// A setting with choices is an enum; `choices` has the name of each value.
template <typename At>
using ValueOf = std::remove_reference_t<std::invoke_result_t<At, Options&>>;

template <typename At>
Key choice_key(std::string name, At at, const std::vector<std::pair<std::string, ValueOf<At>>>& choices,
               std::string help) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const auto& [word, value] : choices) names.push_back(word);
  Key key;
  key.info = {std::move(name), fmt::format("one of {}", absl::StrJoin(names, ", ")), "", std::move(help)};
  key.set = single("word", [=](Options& options, const std::string& text) -> std::string {
    const auto chosen = std::find(names.begin(), names.end(), text);
    if (chosen == names.end())
      return fmt::format("{} is not one of {}", shown(text), absl::StrJoin(names, ", "));
    at(options) = choices[static_cast<size_t>(chosen - names.begin())].second;
    return {};
  });
  key.get = [=](const Options& options) {
    for (const auto& [word, value] : choices)
      if (value == read(at, options)) return word;
    return std::string();
  };
  return key;
}

// A choice by name, where a table elsewhere knows what the names mean.
template <typename At>
Key word_key(std::string name, At at, const std::vector<std::string>& names, std::string help) {
  std::vector<std::pair<std::string, std::string>> choices;
  choices.reserve(names.size());
  for (const std::string& word : names) choices.emplace_back(word, word);
  return choice_key(std::move(name), at, choices, std::move(help));
}

template <typename At>
Key list_key(std::string name, At at, std::string help) {
  Key key;
  key.info = {std::move(name), "list of text", "", std::move(help)};
  key.set = [=](Options& options, const RawValue& value) -> std::string {
    std::vector<std::string> items = value.list ? value.items : split_list(value.items.front());
    if (std::find(items.begin(), items.end(), "") != items.end()) return "an item of the list is empty";
    at(options) = std::move(items);
    return {};
  };
  key.get = [=](const Options& options) { return write_list(read(at, options)); };
  return key;
}

// A list whose "name=value" items may also be written as a group in the file.
template <typename At>
Key named_list_key(std::string name, At at, std::string help) {
  Key key = list_key(std::move(name), at, std::move(help));
  key.info.type = "list of text, or names and values";
  return key;
}

template <typename At>
Key bool_key(std::string name, At at, std::string help) {
  Key key;
  key.info = {std::move(name), "true or false", "", std::move(help)};
  key.set = single("true or false", [=](Options& options, const std::string& text) -> std::string {
    if (text != "true" && text != "false") return fmt::format("{} is neither true nor false", shown(text));
    at(options) = text == "true";
    return {};
  });
  key.get = [=](const Options& options) { return read(at, options) ? "true" : "false"; };
  return key;
}

template <typename At>
Key duration_key(std::string name, At at, int64_t least_ms, std::string help) {
  Key key;
  key.info = {std::move(name), "duration", "", std::move(help)};
  key.set = single("duration", [=](Options& options, const std::string& text) -> std::string {
    const auto ms = parse_duration(text);
    if (!ms) return fmt::format("{} is not a duration (such as 30d, 12h, 90s, 500ms)", shown(text));
    if (*ms < least_ms) return fmt::format("{} is shorter than {}", shown(text), write_duration(least_ms));
    at(options) = *ms;
    return {};
  });
  key.get = [=](const Options& options) { return write_duration(read(at, options)); };
  return key;
}

// A group with arbitrary names, stored as "name=value". Values may be secret, so no message and no listing
// shows them.
template <typename At>
Key map_key(std::string name, At at, std::string help) {
  Key key;
  const std::string name_of = name;
  key.info = {std::move(name), "names and values", "", std::move(help)};
  key.named_values = true;
  key.set = [=](Options& options, const RawValue& value) -> std::string {
    const std::vector<std::string> items = value.list ? value.items : split_list(value.items.front());
    for (size_t i = 0; i < items.size(); ++i) {
      const size_t equals = items[i].find('=');
      if (equals == std::string::npos || equals == 0) {
        return fmt::format(
            "item {} of {} is not of the form name=value (not shown, it may be secret). A value with a "
            "comma: set {}.NAME",
            i + 1, items.size(), name_of);
      }
    }
    std::vector<std::string>& all = at(options);
    for (const std::string& item : items) {
      const std::string begin = item.substr(0, item.find('=') + 1);
      std::erase_if(all, [&](const std::string& before) { return before.starts_with(begin); });
      all.push_back(item);
    }
    return {};
  };
  key.get = [=](const Options& options) {
    std::vector<std::string> names;
    for (const std::string& item : read(at, options))
      names.push_back(item.substr(0, item.find('=')) + "=...");
    return write_list(names);
  };
  return key;
}

inline Key expire_after_key(std::string help) {
  Key key;
  key.info = {"expire_after", "duration or never", "", std::move(help)};
  key.set = single("duration", [](Options& options, const std::string& text) -> std::string {
    bool never = text.empty() || text == "never";
    auto ms = never ? 0 : parse_duration(text);
    if (!ms) return fmt::format("{} is not a duration (such as 30d, 12h, 90s, 500ms) or never", shown(text));
    if (*ms > limits::kExpireAfter.most)
      return fmt::format("{} is longer than {}", shown(text), write_duration(limits::kExpireAfter.most));
    if (*ms == 0 && !never) return "0 would expire every document at once; write never to keep all";
    options.expire_after = never ? "" : text;
    options.expire_after_ms = *ms;
    return {};
  });
  key.get = [](const Options& options) {
    return options.expire_after.empty() ? std::string("never") : write_text(options.expire_after);
  };
  return key;
}

// The key of a setting of an index.
inline Key index_key(const IndexSetting& setting) {
  const Limit& limit = setting.limit;
  const std::string name(setting.name()), help(setting.help);
  if (limit.unit == Limit::Unit::millisecond) return expire_after_key(help);
  return std::visit(
      [&](auto member) {
        const auto at = [member](Options& o) -> auto& { return o.*member; };
        using Value = ValueOf<decltype(at)>;
        if constexpr (std::is_enum_v<Value>) {
          std::vector<std::pair<std::string, Value>> choices;
          for (const std::string_view choice : setting.choices())
            choices.emplace_back(choice, static_cast<Value>(choices.size()));
          return choice_key(name, at, choices, help);
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          return list_key(name, at, help);
        } else if constexpr (std::is_same_v<Value, double>) {
          return number_key(name, at, limit.least, limit.most, std::string(setting.usual), help);
        } else if constexpr (std::is_same_v<Value, uint64_t>) {
          const auto least = static_cast<uint64_t>(limit.least), most = static_cast<uint64_t>(limit.most);
          return limit.unit == Limit::Unit::byte ? size_key(name, at, least, most, help)
                                                 : integer_key(limit, at, help);
        } else {
          return integer_key(limit, at, help);
        }
      },
      setting.member);
}

// Refuses a value that looks like the hash key itself, which every listing of the settings would show.
inline Key hash_key_file_key(std::string help) {
  Key key = text_key("hash_key_file", [](Options& o) -> auto& { return o.hash_key_file; }, std::move(help));
  key.set = [set = key.set](Options& options, const RawValue& value) -> std::string {
    const std::string& text = value.items.empty() ? std::string() : value.items.front();
    if (text.size() == 32 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
      return "this looks like the key itself; give the path of a file that holds it, or set DOPPEL_HASH_KEY";
    }
    return set(options, value);
  };
  return key;
}

}  // namespace doppel
