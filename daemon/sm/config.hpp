// DOC: what the SM can be told.
//
// One immutable value per epoch; read from TOML by shell/config_file, replaced whole on reload. Each field
// has a name in ibfabricd.conf(5) and a range that the reader checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/sa_tables.hpp"
#include "daemon/sm/health.hpp"
#include "mad/ids.hpp"
#include "mad/transactions.hpp"
#include "routing/preference_files.hpp"
#include "routing/routes.hpp"

namespace ibf::sm {

/// When a master hands over to a standby that it could leave alone.
enum class HandOver : std::uint8_t {
    priority,  ///< when the other's priority is higher
    never,     ///< not at all: mastership moves when the master dies, or when two masters meet
};

/// Whom a take-over asks to register anew.
enum class Reregister : std::uint8_t {
    moved,  ///< everybody whose SM has another LID now: few drivers tell their clients of that
    lost,   ///< only where it is not known what clients left with the master before
};

struct SmConfig {
    // [sm]
    std::uint64_t subnet_prefix = 0xfe80000000000000ULL;
    std::uint8_t priority = 0;  ///< 0..15
    mad::SmKey sm_key{1};
    base::Duration poll_interval = std::chrono::seconds{1};  ///< a standby asks the master so often
    std::uint32_t poll_misses = 3;                           ///< so many unanswered in a row: it is dead
    HandOver hand_over = HandOver::priority;
    Reregister reregister = Reregister::moved;
    base::Duration hand_over_hold =
        std::chrono::seconds{60};  ///< an SM that vanished must first stay so long
    std::uint64_t sa_key = 1;      ///< who shows it to the SA sees member lists and keys
    std::uint8_t lmc = 0;          ///< 0..7
    bool lmc_on_enhanced_port0 = false;
    base::Duration sweep_interval = std::chrono::seconds{10};        ///< light sweep; zero: never
    base::Duration trap_hold_down = std::chrono::milliseconds{500};  ///< first reaction is at once, then this
    std::uint32_t silent_probe_sweeps = 8;  ///< a silent device is asked again every n light sweeps

    // [ports]
    std::uint8_t operational_vls_max = 5;  ///< code 1..5
    std::uint8_t subnet_timeout = 18;      ///< 0..31
    std::uint8_t packet_life_time = 0x12;  ///< SwitchInfo.LifeTimeValue 0..31
    std::uint8_t hoq_life = 0x12;
    std::uint8_t hoq_life_hosts = 0x10;  ///< switch ports toward hosts
    std::uint8_t vl_stall_count = 7;
    std::uint8_t error_threshold = 8;  ///< LocalPhyErrors and OverrunErrors
    std::uint8_t width_enabled = 0;    ///< bits as LinkWidth; 0: leave alone
    std::uint8_t speed_enabled = 0;    ///< bits as PortInfo.LinkSpeedEnabled; 0: leave alone
    std::uint8_t speed_ext_enabled = 0;
    std::uint8_t speed_ext2_enabled = 0;
    bool separate_arm = false;  ///< configuration and Armed in two Sets

    // [health]
    HealthPolicy health;

    // [sa]
    fabric::WhenFull sa_when_full = fabric::WhenFull::silent;

    // [multicast]
    std::vector<fabric::ConfiguredGroup> multicast_groups;  ///< besides IPoIB's of the default partition

    // [routing]
    routing::RouteOptions routing;
    std::string root_guid_file;
    std::string lfts_file;
    routing::PreferencePaths preference_files;
    std::uint32_t drift_max = 20;          ///< percent that the busiest link may carry beyond fresh tables'
    std::uint32_t rebalance_blocks = 256;  ///< LFT blocks that one step moves at most; 0: none is moved
    base::Duration rebalance_quiet = std::chrono::seconds{60};  ///< from the last set-up to the first step

    // [mads]
    mad::TransactionLimits mads;
};

}  // namespace ibf::sm
