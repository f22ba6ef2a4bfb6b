#pragma once
// The common part of tests of faults: an index, a workload that is produced part by part, and a check of
// everything published at the end.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kafka/broker.h"
#include "kafka/index_setup.h"
#include "kafka/workload.h"

namespace doppel::testing {

struct Case {
  explicit Case(const IndexSetup::Settings& settings = {},
                const std::string& bootstrap = Broker::shared().bootstrap(), size_t documents = 600)
      : setup(bootstrap, settings), client(bootstrap) {
    messages = make_workload({.documents = documents, .topics = setup.inputs()});
  }

  void produce_next(size_t count) {
    const size_t end = std::min(messages.size(), produced + count);
    produce(client, messages, produced, end);
    produced = end;
  }

  std::unique_ptr<Daemon> start(const Daemon::Environment& environment = {}) {
    auto daemon = setup.serve(environment);
    EXPECT_TRUE(daemon->await_line("ready")) << daemon->said();
    return daemon;
  }
  void await_all(Daemon& daemon) { ASSERT_TRUE(setup.await_all(daemon)) << daemon.said(); }

  static void stop(Daemon& daemon) {
    daemon.terminate();
    EXPECT_EQ(daemon.await_exit(), 0) << daemon.said();
  }

  // Checks that everything was published exactly once, and correctly.
  void expect_exact() {
    const Verification result = setup.verify();
    EXPECT_TRUE(result.findings.empty()) << result.text();
    EXPECT_EQ(result.documents, produced);
    EXPECT_GT(result.duplicates, 0U);
    EXPECT_EQ(setup.compare_with_rebuilt(), "");
  }
  // Produces the rest of the workload, and checks everything.
  void finish(Daemon& daemon) {
    produce_next(messages.size());
    await_all(daemon);
    stop(daemon);
    expect_exact();
  }

  IndexSetup setup;
  Client client;
  std::vector<Message> messages;
  size_t produced = 0;
};

}  // namespace doppel::testing
