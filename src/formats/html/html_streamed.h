#pragma once
// Moves the parts of a page to where its own scripts move them. A server that renders while it sends has
// already sent the page around a slow part when the part is ready. It then sends the part after everything
// else, hidden or as a template, with a line of script that moves it (React, Solid, Marko, Leptos and
// others). A reader sees the part.

#include <string>
#include <string_view>

namespace doppel {

// Moves each such part to its place, and removes what was shown there while it loaded. Returns false if no
// part is moved; then `out` is undefined. Linear in the page.
//
// A part is a hidden element with an id, or a template. A script moves it if it calls, outside any function,
// a function whose arguments are all literals and name the part and perhaps its place, provided that the
// function (defined in a script of the page) moves nodes or that the place is an empty template. A script
// directly after a template may also move it itself.
bool place_moved_parts(std::string_view html, std::string& out);

}  // namespace doppel
