#pragma once
// The publications of two indexes for the same documents, and how they differ. Leaves out the parts that
// differ for every index (its epoch, its source).

#include <string>
#include <vector>

#include "config/options.h"

namespace doppel::testing {

struct Published {
  std::string id;    // of the event, or the origin of the dead letter
  std::string text;  // key, value and headers
  auto operator<=>(const Published&) const = default;
};

// Sorted, because records without a key go to any partition, and ends of originals are published at the end
// of a batch, which differs from run to run.
struct Publication {
  std::vector<Published> events, dead_letters;
};

// Reads everything that is committed in the topics of an index.
Publication read_publication(const std::string& bootstrap, const Options& options);

struct PublicationDifference {
  size_t lost = 0, doubled = 0, changed = 0;
  std::string example;  // the first difference; empty: they are equal
  std::string text() const;
  bool none() const { return lost + doubled + changed == 0; }
};

PublicationDifference compare(const Publication& got, const Publication& expected);

}  // namespace doppel::testing
