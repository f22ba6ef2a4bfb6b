#pragma once
// Documents that signers bring into one order, indexes on many machines that read the order, and the
// publication of one process that reads the same order.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kafka/index_setup.h"
#include "kafka/published.h"

namespace doppel::testing {

class ClusterSetup {
 public:
  using Settings = IndexSetup::Settings;

  // `rule`: settings of all indexes and signers. The documents are in `partitions` partitions.
  ClusterSetup(const std::string& bootstrap, const Settings& rule, int partitions = 4);

  const std::string& input() const { return texts_.input(); }
  const std::string& order() const { return signed_.input(); }
  const IndexSetup& texts() const { return texts_; }

  std::unique_ptr<Daemon> signer(const Daemon::Environment& environment = {}) const;
  // Returns the mistakes of the signers (signed_order.h), with this many documents in the input.
  std::vector<std::string> check_order(size_t documents) const;
  // The present end of the order.
  Offsets end_of_order() const;

  // Settings of another index with this order, whose processes take over from each other quickly.
  Settings cluster(const Settings& more = {}) const;
  // Starts processes of such an index, with a directory of this name.
  static std::unique_ptr<Daemon> resolver(const IndexSetup& index, const std::string& name,
                                          const Daemon::Environment& environment = {});
  static std::unique_ptr<Daemon> matcher(const IndexSetup& index, const std::string& shards,
                                         const std::string& name,
                                         const Daemon::Environment& environment = {});

  // Returns the publication of one process that reads the order as it is now; `more`: settings of this
  // process.
  Publication decide_alone(const Settings& more = {}) const;
  // Returns the result of the first such call.
  const Publication& alone();
  PublicationDifference compare_with_alone(const IndexSetup& index);

 private:
  std::string bootstrap_;
  Settings rule_;
  IndexSetup texts_, signed_;
  std::optional<Publication> expected_;
};

}  // namespace doppel::testing
