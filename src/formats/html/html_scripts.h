#pragma once
// The text of a page that scripts make in the browser, where the page brings it along: an app's state is an
// object in a script, and one of its strings is the markup of the article.

#include <memory>
#include <string>
#include <string_view>

#include "formats/html/html_parser.h"

namespace doppel {

// One for each thread.
class ScriptMarkup {
 public:
  ScriptMarkup();
  ~ScriptMarkup();

  // Returns the longest string in the page's scripts that is markup with paragraphs, decoded; otherwise "".
  // The same script must name most of the page's title: other strings are the text of dialogs, which all
  // pages of a site have. `html` is as for HtmlParser. Valid until the next call.
  std::string_view find(std::string_view html);

  // Bytes examined one by one by the last find().
  uint64_t steps() const { return steps_; }

 private:
  class Reader;

  std::unique_ptr<Reader> reader_;
  std::string longest_;
  uint64_t steps_ = 0;
};

}  // namespace doppel
