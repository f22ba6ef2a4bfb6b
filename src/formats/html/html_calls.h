#pragma once
// What an inline script does at once: its calls outside of any function, of which all arguments are literals.

#include <string_view>
#include <vector>

namespace doppel {

struct ScriptCall {
  std::string_view function;                // the last name: of window.swap("a") it is swap
  std::vector<std::string_view> arguments;  // strings without their quotes, numbers as they are
};

// Linear; a script that is not understood gives fewer calls.
std::vector<ScriptCall> immediate_calls(std::string_view script);

// The text of a script around the place where it defines a function; empty: it does not.
std::string_view definition_of(std::string_view function, std::string_view script);

// The strings in a piece of script that are short enough for a part of an id.
std::vector<std::string_view> short_strings(std::string_view script);

// Whether it calls what browsers have to move nodes.
bool moves_nodes(std::string_view script);

}  // namespace doppel
