#pragma once
// A regular expression that names topics.

#include <regex.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace doppel::kafka {

class TopicPattern {
 public:
  // POSIX extended. An error says what is wrong with it.
  static absl::StatusOr<TopicPattern> compile(const std::string& expression);

  // Whether the beginning of the name fits.
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
