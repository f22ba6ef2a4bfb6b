#pragma once
// A regular expression that selects topics by name.

#include <regex.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace doppel::kafka {

class TopicPattern {
 public:
  // The syntax is POSIX extended. The error quotes the expression and says what is wrong with it.
  static absl::StatusOr<TopicPattern> compile(const std::string& expression);

  // Whether the expression matches at the beginning of the name. It need not match the whole name.
  bool fits(const std::string& topic) const;

 private:
  struct Free {
    void operator()(regex_t* compiled) const {
      ::regfree(compiled);
      delete compiled;
    }
  };
  std::unique_ptr<regex_t, Free> compiled_;
};

}  // namespace doppel::kafka
