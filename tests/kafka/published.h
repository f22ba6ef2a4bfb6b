#pragma once
// What two indexes published of the same documents, and how it differs. What every index has of its own (its
// epoch, its source) is left out.

#include <string>
#include <vector>

#include "config/options.h"

namespace doppel::testing {

struct Published {
  std::string id;    // of the event, or the origin of the dead letter
  std::string text;  // key, value and headers
  auto operator<=>(const Published&) const = default;
};

// Sorted: records without a key go to any partition, and ends of originals are published at the end of a
// batch, which another run ends elsewhere.
struct Publication {
  std::vector<Published> events, dead_letters;
};

// All that is committed in the topics of an index.
Publication read_publication(const std::string& bootstrap, const Options& options);

struct PublicationDifference {
  size_t lost = 0, doubled = 0, changed = 0;
  std::string example;  // of the first one; empty: they are the same
  std::string text() const;
  bool none() const { return lost + doubled + changed == 0; }
};

PublicationDifference compare(const Publication& got, const Publication& expected);

}  // namespace doppel::testing
