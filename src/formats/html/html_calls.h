#pragma once
// Finds the calls that an inline script makes when it runs: those outside functions, with only literals as
// arguments.

#include <string_view>
#include <vector>

namespace doppel {

struct ScriptCall {
  std::string_view function;                // the last name: "swap" for window.swap("a")
  std::vector<std::string_view> arguments;  // strings without quotes, numbers as written
};

// Linear. Finds fewer calls in scripts that it does not understand.
std::vector<ScriptCall> immediate_calls(std::string_view script);

// The text around the place where the script defines the function; "" if it does not.
std::string_view definition_of(std::string_view function, std::string_view script);

// The strings in a script that are short enough to be part of an id.
std::vector<std::string_view> short_strings(std::string_view script);

// Whether the script calls DOM functions that move nodes.
bool moves_nodes(std::string_view script);

}  // namespace doppel
