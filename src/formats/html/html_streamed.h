#pragma once
// Parts of a page that its own scripts put in their place. A server that renders while it sends has sent the
// page around a slow part already when the part is ready: it sends the part behind everything else, hidden or
// as a template, and a line of script that moves it (React, Solid, Marko, Leptos and others). A reader sees
// the part.

#include <string>
#include <string_view>

namespace doppel {

// Puts each such part where its script puts it, and removes what stood there while it loaded. False: no part
// is moved; `out` is undefined. The work is linear in the page.
//
// A part is an element with an id that is hidden, or a template. A script moves it if, outside of any
// function, it calls a function with nothing but literals, which name the part and perhaps its place, and if
// the function (defined in a script of the page) moves nodes; or if the place is an empty template. A script
// directly behind a template may also move it by itself.
bool place_moved_parts(std::string_view html, std::string& out);

}  // namespace doppel
