#pragma once
// The table of all settings, and the only place that lists them. Help texts, `doppel config`, the check that
// config/doppel.yaml is complete, and messages about single keys come from it.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace doppel {

// A value as it was written, before its type is known.
struct RawValue {
  bool list = false;               // it was written as a list
  std::vector<std::string> items;  // the items of the list, or the single text
};

struct Key {
  KeyInfo info;
  // The key is a group with arbitrary names. Later values are added and replace those with the same name. A
  // name may also be set as its own key, such as kafka.properties.NAME; that value is not split at commas.
  bool named_values = false;
  // Stores the value in the options. Returns what is wrong with it, such as "1.4 is not between 0 and 1", or
  // nothing.
  std::function<std::string(Options&, const RawValue&)> set;
  std::function<std::string(const Options&)> get;  // returns the value as written in the file
};

const std::vector<Key>& all_keys();
const Key* find_key(std::string_view name);
// What a person who names a setting of an earlier version must read: "NAME is gone: set ...". Empty: there
// was no such setting.
std::string retired(std::string_view name);
std::string retired_variable(std::string_view variable);  // the same for a variable of the environment

// A property of librdkafka that doppel itself goes by. It stands in Options::Kafka with its default, and the
// clients get it from there.
struct TakenProperty {
  std::string_view name, prefix;  // the clients whose property it is: "consumer." or "producer."
  int64_t least, most;
  void (*take)(Options&, int64_t value);
};
const TakenProperty* taken_property(std::string_view name);  // the name may have the prefix; nullptr: another

// Finds the key with named_values for a name such as kafka.properties.NAME, and sets `rest` to NAME.
const Key* find_named(std::string_view name, std::string& rest);
// The same for an environment variable: DOPPEL_KAFKA_PROPERTIES_SASL_PASSWORD gives sasl.password.
const Key* find_named_variable(std::string_view variable, std::string& rest);

std::vector<std::string> key_names();
std::vector<std::string> group_names();              // "state", "input", ...
std::string environment_name(std::string_view key);  // state.fsync -> DOPPEL_STATE_FSYNC

}  // namespace doppel
