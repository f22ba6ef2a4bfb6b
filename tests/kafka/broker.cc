#include "kafka/broker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

namespace doppel::testing {
namespace {

namespace fs = std::filesystem;

// Runs scripts/kafka. Returns its output and exit code.
std::pair<std::string, int> run_script(const std::string& arguments) {
  const std::string command = fmt::format("'{}/scripts/kafka' {} 2>&1", DOPPEL_SOURCE_DIR, arguments);
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  if (pipe == nullptr) throw std::runtime_error("popen");
  std::string said;
  std::array<char, 4096> buffer{};
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) said.append(buffer.data(), n);
  return {said, pclose(pipe)};
}

std::string new_folder() {
  std::string folder = (fs::temp_directory_path() / "doppel-kafka-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("mkdtemp");
  return folder;
}

bool runs(const std::string& folder) {
  return run_script(fmt::format("status --dir '{}'", folder)).second == 0;
}

}  // namespace

Broker::Broker(std::string folder, bool ours, const std::string& start_arguments)
    : folder_(std::move(folder)), ours_(ours) {
  if (ours_) run("start --port 0 " + start_arguments);
  std::getline(std::ifstream(folder_ + "/bootstrap") >> std::ws, bootstrap_);
}

Broker::~Broker() {
  if (ours_) run_script(fmt::format("remove --dir '{}'", folder_));
}

Broker& Broker::shared() {
  static Broker broker(DOPPEL_KAFKA_FOLDER, !runs(DOPPEL_KAFKA_FOLDER), "");
  return broker;
}

std::unique_ptr<Broker> Broker::own(int nodes, bool tls_sasl) {
  return std::unique_ptr<Broker>(
      new Broker(new_folder(), true, fmt::format("{} {}", nodes, tls_sasl ? "--tls-sasl" : "")));
}
std::unique_ptr<Broker> Broker::own_with_id(const std::string& cluster) {
  return std::unique_ptr<Broker>(new Broker(new_folder(), true, "--cluster-id=" + cluster));
}

int Broker::port(int node, int which) const {
  return std::stoi(bootstrap_.substr(bootstrap_.find(':') + 1)) + 3 * (node - 1) + which;
}

pid_t Broker::pid(int node) const {
  pid_t pid = 0;
  std::ifstream(fmt::format("{}/node-{}/pid", folder_, node)) >> pid;
  if (pid <= 0) throw std::runtime_error(fmt::format("{}: node {} has no pid", folder_, node));
  return pid;
}

std::string Broker::run(const std::string& arguments) const {
  auto [said, status] = run_script(fmt::format("{} --dir '{}'", arguments, folder_));
  if (status != 0) throw std::runtime_error(fmt::format("scripts/kafka {}: {}", arguments, said));
  return said;
}

void Broker::run_for(const char* command, int node) const {
  run(node == 0 ? std::string(command) : fmt::format("{} {}", command, node));
}
void Broker::kill(int node) { run_for("kill", node); }
void Broker::stop(int node) { run_for("stop", node); }
void Broker::restart(int node) { run_for("restart", node); }

std::string unique_name(const std::string& prefix) {
  static std::atomic<int> count = 0;
  static const uint32_t process = std::random_device()();
  return fmt::format("{}-{:08x}-{}", prefix, process, ++count);
}

}  // namespace doppel::testing
