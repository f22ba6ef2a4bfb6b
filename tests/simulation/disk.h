#pragma once
// A disk that loses power: synced data stays, other data partly. In this program, fsync and fdatasync only
// note what is durable from then on.

#include <string>

#include "simulation/scheduler.h"

namespace doppel::simulation {

// Changes the directory and its subdirectories to a possible state after a loss of power. No file in it may
// be open. The directory itself stays.
void lose_power(const std::string& directory, Scheduler& dice);

// Closes the files of a killed process, as the system does.
void close_files_below(const std::string& directory);

}  // namespace doppel::simulation
