"""The planted faults: one line or two of the product each, changed as a tired hand might change it.

Each names its file, the text that stands there (exactly once), what it becomes, and the unit tests that should see it.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Binary:
    target: str
    filter: str


ELECTION = Binary("ibf_test_sm", "Election*:Pair.*:Ranks.*:Handover.*:Join.*:OtherKey.*:Flapping.*:Three.*:Orders.*")
TABLES = Binary("ibf_test_sm", "LftPlan.*:FieldCase.*-FieldCase.C33*:FieldCase.C9_*:FieldCase.C116*")
RESTART = Binary("ibf_test_sm", "Restart.*:Change.*:*BringUp*:" + TABLES.filter)
MEMO = Binary("ibf_test_routing", "Memo.*")
AGENT = Binary("ibf_test_agent", "*")
PROOF = Binary("ibf_test_proof", "*")
VERBS = Binary("ibf_test_verbs", "*")
DOUBT = Binary("ibf_test_sm", "Doubt*:KnownTables.*:Election.*:Orders.C49_Two*")


PROGRAMMER = ("daemon/sm/programmer.cpp", "daemon/sm/programmer_lanes.cpp")


@dataclasses.dataclass(frozen=True)
class Mutation:
    name: str
    what: str
    file: str
    old: str
    new: str
    unit: Binary
    sources: tuple = ()  # what is compiled, where the file is a header


def election(name, what, old, new, file="daemon/sm/election.cpp"):
    return Mutation(name, what, file, old, new, ELECTION)


def order(name, what, old, new, file="daemon/sm/programmer.cpp", unit=TABLES):
    sources = PROGRAMMER if file == "daemon/sm/programmer.hpp" else ()
    return Mutation(name, what, file, old, new, unit, sources)


def doubt(name, what, old, new, file):
    return Mutation(name, what, f"daemon/sm/{file}", old, new, DOUBT)


def proof(name, what, old, new, file="probe/proof/judge_round.cpp"):
    return Mutation(name, what, file, old, new, PROOF)


def agent(name, what, old, new, file="probe/agent/session.cpp", unit=AGENT):
    return Mutation(name, what, file, old, new, unit)


def memo(name, what, old, new, file="routing/engine_tables.cpp"):
    return Mutation(name, what, file, old, new, MEMO)


MUTATIONS = [
    # The election table.
    election("deaf-standby", "a standby whose master is gone stays one",
             "/*polled_gone   */ {{{D, none},   {D, look},", "/*polled_gone   */ {{{D, none},   {S, none},"),
    election("bold-standby", "a standby that sees no master takes over at once",
             "/*alone         */ {{{M, serve},  {S, none},", "/*alone         */ {{{M, serve},  {M, serve},"),
    election("proud-master", "a master that meets a lower one goes on writing",
             "/*lower_master  */ {{{S, watch},  {S, watch},       {N, none},   {C, call},",
             "/*lower_master  */ {{{S, watch},  {S, watch},       {N, none},   {M, serve},"),
    election("no-hand-over", "a master that meets a higher one does not hand over",
             "/*higher_master */ {{{S, watch},  {S, watch},       {N, none},   {H, hand_over},",
             "/*higher_master */ {{{S, watch},  {S, watch},       {N, none},   {M, serve},"),
    election("start-beside", "a start beside a lower master is master as well",
             "/*lower_master  */ {{{S, watch},", "/*lower_master  */ {{{M, serve},"),
    election("heir-at-once", "an SM that starts beside a higher standby is master",
             "/*heir          */ {{{S, watch},  {S, none},", "/*heir          */ {{{M, serve},  {S, none},"),
    election("lost-handover", "HANDOVER does not wake a standby",
             "/*HANDOVER      */ {{{D, look},   {M, acknowledge},", "/*HANDOVER      */ {{{D, look},   {S, none},"),
    election("deaf-to-acknowledge", "ACKNOWLEDGE does not end a hand-over",
             "{M, refuse},    {C, refuse},    {S, step_down}}},\n    /*DISABLE",
             "{M, refuse},    {C, refuse},    {H, none}}},\n    /*DISABLE"),
    election("trusting-master", "a master of higher rank without our key is ignored",
             "/*foreign_master*/ {{{S, watch},  {S, watch},       {N, none},   {S, step_down},",
             "/*foreign_master*/ {{{S, watch},  {S, watch},       {N, none},   {M, serve},"),
    # What serves the table.
    election("rank-by-high-guid", "of equal priorities the higher GUID ranks first",
             "priority > other_priority : guid < other;", "priority > other_priority : guid > other;"),
    election("one-miss-too-few", "a master is dead one lost poll too early",
             "++missed_ < policy_.misses)", "++missed_ + 1 < policy_.misses)"),
    election("unlooked", "a new master writes before it has looked",
             "looked_ = rule.act == Act::serve ||", "looked_ = rule.next == Role::master ||"),
    election("any-key-asks", "who shows another SM_Key may ask for mastership",
             "const bool trusted = whom.trust == SmTrust::ours ||", "const bool trusted = whom.trust != SmTrust::unknown ||"),
    election("equal-heir", "mastership moves to a standby of the same priority",
             "other.priority <= policy_.priority)", "other.priority < policy_.priority)"),
    election("predecessor-is-a-rival", "who has just handed over is taken for a second master",
             "other.guid == predecessor_ && now < predecessor_until_", "other.guid == predecessor_ && now > predecessor_until_"),
    # The order of writes.
    order("no-drops", "LIDs that could loop are written without a drop",
          "if (old_hop != routing::kNoIndex && rings_.on_ring(entry.at, old_hop)) {",
          "if (old_hop != routing::kNoIndex && rings_.on_ring(entry.at, old_hop) && lid == 0) {", "daemon/sm/lft_plan.cpp"),
    order("new-hops-only", "the union graph forgets the old tables",
          "const LftRow* row = which == 0 ?", "const LftRow* row = which == 2 ?", "daemon/sm/lft_plan.cpp"),
    order("drops-another", "the drop write drops the entry beside the one that is meant",
          "out.ports[entry->lid - from] = kLftDrop;", "out.ports[(entry->lid - from) ^ 1] = kLftDrop;", "daemon/sm/lft_plan.cpp"),
    order("half-a-block", "a change in the second half of a block is not seen",
          "wanted.data() + from, kLftBlockEntries) != 0;", "wanted.data() + from, kLftBlockEntries / 2) != 0;",
          "daemon/sm/lft_plan.cpp"),
    order("tables-before-drops", "wanted entries are written before the drops",
          "        lft_drop,\n        lft,\n", "        lft,\n        lft_drop,\n", "daemon/sm/programmer.hpp"),
    order("no-waiting", "a stage does not wait for the answers of the one before",
          "if (open_ == 0 && spill_.empty()) {", "if (spill_.empty()) {"),
    order("drop-refused", "an entry that a switch did not drop is overwritten elsewhere",
          "    held_blocks_.insert(drop.block);\n    fail(", "    fail("),
    order("unread-is-empty", "old entries that could not be read count as none",
          "if (input_.unreadable.contains(write.switch_index)) {", "if (!input_.unreadable.contains(write.switch_index)) {"),
    order("known-unacknowledged", "a block that was not acknowledged counts as known",
          "if (blocks_missing_[s] == 0) {", "if (blocks_missing_[s] <= 1) {", unit=RESTART),
    order("top-not-raised", "LinearFDBTop is not raised before the blocks",
          "set.linear_fdb_top = top_for(node);", "set.linear_fdb_top = node.switch_info->linear_fdb_top;", unit=RESTART),
    order("active-before-armed", "links are activated before both ends are armed",
          "        arm,\n        lanes_of_new_links,\n        activate,\n",
          "        activate,\n        lanes_of_new_links,\n        arm,\n", "daemon/sm/programmer.hpp", unit=RESTART),
    # The incremental router.
    memo("neighbours-mixed-up", "of neighbours above, changes of the ways down are looked at, and the reverse",
         "job_.plan.links[group] == UpDownLink::up ? changes.whole : changes.down;",
         "job_.plan.links[group] == UpDownLink::up ? changes.down : changes.whole;"),
    memo("moved-lids", "LIDs that moved to another switch are not looked at",
         "        due_.merge(job_.known->moved);\n", ""),
    memo("ports-of-groups", "other ports toward the same neighbours are not noticed",
         "|| job_.known->ports_changed[at] != 0) {", ") {"),
    memo("relinked-ignored", "a switch with other neighbours is taken for unchanged",
         "if (changes_.relinked[at] != 0) {", "if (changes_.relinked[at] > 1) {", "routing/updown.cpp"),
    memo("components-ignored", "an evaluation of other components is built on",
         "before != nullptr && before->components == components;", "before != nullptr;", "routing/updown.cpp"),
    memo("down-changes-nothing", "whole paths are not worked out anew where the way down has changed",
         "            due.merge(changes_.down.row(at));\n", "", "routing/updown.cpp"),
    memo("changes-untold", "what has changed is worked out, and not told",
         "        changed.set(at, line);\n", "", "routing/updown.cpp"),
    memo("shared-row-written", "a row that the evaluation before shares is written into",
         "if (owns[at] == 0) {", "if (owns[at] > 1) {", "routing/updown.cpp"),
    memo("rows-unrenumbered", "when a switch is gone, its neighbours in the numbering get each other's lengths",
         "renumber_row(old.whole.row(old_of[at]), old_of, now->whole.row(at));",
         "renumber_row(old.whole.row(at), old_of, now->whole.row(at));", "routing/updown.cpp"),
    memo("spares-no-more", "lines that needed spare links are not worked out anew",
         "if (before_.needs_spares[line] != 0) {", "if (before_.needs_spares[line] > 1) {", "routing/updown.cpp"),
    memo("spares-not-yet", "lines that come to need spare links are not worked out anew",
         "            if (lost.any()) {\n                lost_.push_back(line);\n",
         "            if (!lost.any()) {\n                lost_.push_back(line);\n", "routing/updown.cpp"),
    # What must not be taken for granted.
    doubt("silent-passed-over", "who looks for a master passes over places that were silent",
          " || due || election_.role() == Role::discovering;", " || due;", "look.cpp"),
    doubt("writes-in-doubt", "a master that another one asks as a master clears PortStateChange as it looks for it",
          "election_.may_write() && !in_doubt ?", "election_.may_write() ?", "look.cpp"),
    doubt("look-goes-on", "a look that began before another master was heard goes on",
          "        abandon_look(why, now, out);  // what", "        // what", "mastership.cpp"),
    doubt("reckoning-goes-on", "routes that were being reckoned when another master was heard are written",
          "if (reckons || std::holds", "if (std::holds", "mastership.cpp"),
    doubt("orphans-believed", "a standby without a master is nothing to look twice for",
          "if (!orphans || std::exchange(orphans_met_, true)) {", "if (!orphans || std::exchange(orphans_met_, true) || orphans) {", "guard.cpp"),
    doubt("heir-must-wait", "an heir that looks before it takes mastership is taken for one that refused",
          "(other.state != SmState::standby && !looks_first)", "other.state != SmState::standby", "election.cpp"),
    doubt("untaken-remembered", "a LID that its port did not take stays reserved for it",
          "    forget_untaken_lids(out);\n", "", "subnet_manager.cpp"),
    doubt("reset-is-empty", "a switch that was reset is taken for empty, whatever was sent to it since",
          "if (written_.contains(node.guid())) {", "if (!written_.contains(node.guid())) {", "known_tables.cpp"),
    doubt("name-is-all", "a switch with the GUID of another one is taken for that",
          "        if (!same) {", "        if (!same && then == before.end()) {", "known_tables.cpp"),
    doubt("own-cable-forgets", "a look that saw our own port only counts as one at the switches",
          "for (const Node& node : settled_->nodes) {", "for (const Node& node : fabric_->nodes) {", "known_tables.cpp"),
    doubt("rival-wrote-nothing", "who stays master believes what was acknowledged before another master wrote",
          "if (std::exchange(shared_mastership_, false)) {", "if (std::exchange(shared_mastership_, false) && !view_) {", "known_tables.cpp"),
    doubt("contest-writes-nothing", "of a contest that a look ends, nothing is taken to have been written",
          "(step.from == Role::contested || takes_back || was_handed);", "(takes_back || was_handed);", "mastership.cpp"),
    doubt("rival-unseen", "a port that names another master is no reason to look elsewhere",
          "const mad::Lid named = port.known && input_.touched ?", "const mad::Lid named = port.known && !input_.touched ?", "discovery.cpp"),
    doubt("namesakes-unasked", "of two with one GUID the one that was believed is believed for ever",
          "    ask_namesakes();\n    if (!ask_silent) {", "    if (!ask_silent) {", "light_sweep.cpp"),
    # What a queue pair is given.
    Mutation("lane-forgotten", "the SL that the path record gives does not get as far as the queue pair",
             "probe/verbs/queue_pairs.cpp", "setting.path.sl.value_or(setting.way.sl.value_or(mad::Sl{})).value();",
             "setting.way.sl.value_or(mad::Sl{}).value();", VERBS),
    Mutation("rate-forgotten", "nor its rate", "probe/verbs/queue_pairs.cpp",
             "    to.static_rate = rate_limit(setting.path, setting.chosen.port.bits_per_second);\n", "", VERBS),
    # What an agent lends, to whom, and for how long.
    agent("floor-kept", "an agent stays busy when its holder has gone",
          "    if (std::exchange(has_floor_, false)) {\n", "    if (!std::exchange(has_floor_, false)) {\n"),
    agent("many-floors", "two runs at once", "    if (holder_) {\n", "    if (false) {\n", "probe/agent/floor.cpp"),
    agent("endless-run", "a run goes on beyond its limit",
          "shared_.terms.limits.seconds);\n        call_.request_stop();\n", "shared_.terms.limits.seconds);\n"),
    agent("idle-for-ever", "who says nothing is waited for",
          "heard_ + shared_.terms.idle_max;", "heard_ + std::chrono::hours{1};"),
    agent("version-blind", "another version of the protocol is taken for this one",
          "if (hello->protocol != kProtocolVersion) {", "if (hello->protocol == 0) {"),
    agent("any-order", "a test runs that has not been connected", "nullptr && state_ == State::prepared) {", "nullptr) {"),
    agent("open-to-all", "clients come from any network", "if (!allowed || clients_", "if (clients_",
          "probe/agent/agent.cpp"),
    agent("any-name", "any name of the CA is let in", "peer_name(terms_.names, ", "peer_name({}, ", "probe/agent/agent.cpp"),
    agent("no-end-of-clients", "connections are not bounded", "clients_.size() >= terms_.connections", "clients_.size() >= 1000",
          "probe/agent/agent.cpp"),
    agent("any-host", "an agent with another host's certificate is trusted", "stream.peer_name({expected},",
          "stream.peer_name({},", "net/tls_stream.cpp"),
    agent("rate-for-all", "no rate passes for a low one", "(spec.bits_per_second == 0 || spec", "(spec",
          "probe/agent/limits.cpp"),
    agent("stop-unheard", "a run in an agent is not stopped", "static_cast<void>(line_.send(Stop{}));  // a broken", "// a broken",
          "probe/agent/remote_endpoint.cpp"),
    agent("readable-key", "a key that a group can read is taken", "kAnybody = S_IRWXO | S_IRWXG;", "kAnybody = S_IRWXO;",
          "net/tls.cpp", Binary("ibf_test_net", "*")),
    agent("deep-frames", "frames have no largest size", "length == 0 || length > kFrameBytesMax", "length == 0",
          "probe/messages.cpp", Binary("ibf_test_probe", "Messages.*")),
    # What proves a hop, and what is a finding.
    proof("one-end-does", "a hop is proved by its sender alone", "(!in.known || in.receive_words >= all)", "true"),
    proof("few-will-do", "some octets prove a hop", "in.receive_words >= all)", "in.receive_words >= 1)"),
    proof("full-is-fine", "a 32-bit counter at its maximum is evidence",
          "(now.transmit_words == kNarrowMost || now.receive_words == kNarrowMost)", "false"),
    proof("cleared-is-fine", "a counter that was cleared is evidence",
          "now.transmit_words < then.transmit_words || now.receive_words < then.receive_words", "false"),
    proof("others-are-ours", "what another flow sends beside counts as ours elsewhere",
          "const std::uint64_t own = expected != expected_.end() ? expected->second : 0;", "const std::uint64_t own = 0;"),
    proof("adaptive-is-lost", "an adaptive switch's other way is a loss", "} else if (adaptive != nullptr) {",
          "} else if (false) {"),
    proof("retries-unseen", "what was sent again and again was not sent", "outcome.failure == failure::kRetryExceeded", "false"),
    proof("old-errors", "errors of before the round are found", "counter.after - counter.before : counter.after;",
          "counter.after : counter.after;"),
    proof("marked-elsewhere", "errors that others marked are this port's",
          'counter_of("buffer overruns", a.buffer_overruns, b.buffer_overruns),',
          'counter_of("buffer overruns", a.remote_physical_errors, b.remote_physical_errors),'),
    proof("first-waits", "of the ports that wait the first is slow", "            last = &hop;\n",
          "            last = last == nullptr ? &hop : last;\n"),
    proof("busy-is-slow", "a link that waits for a busy one is slow", "if (last != &hops.back()) {", "if (false) {"),
    proof("wanted-slow", "a rate that we asked for is slow", "wanted > 0 ?", "false ?"),
    proof("little-is-much", "a few octets say something of a rate", "outcome.bytes < kBulkBytes ||", ""),
    proof("lost-anyway", "a loss that is explained is told again",
          "[&](const Finding& finding) { return explains(finding, flow); }", "[&](const Finding&) { return false; }"),
    proof("only-there", "what is wrong on the way back explains nothing", "(touches(flow.flow.from, flow.flow.lid) ||",
          "(touches(flow.flow.from, flow.flow.lid) || 0 *"),
    proof("above-top", "entries above LinearFDBTop forward", "lid <= reading.top ? reading.entries.ports[i] : mad::kLftDrop",
          "reading.entries.ports[i]", "probe/proof/judge.cpp"),
    proof("nobodys-lids", "entries of LIDs that nobody has are judged", "view.owner(lid).switch_index != routing::kNoIndex &&",
          "", "probe/proof/judge.cpp"),
    proof("many-dead-links", "a dead switch is as many dead links", "if (reading.to.is_switch && reading.state == CableReading::State::silent) {",
          "if (false) {", "probe/proof/judge.cpp"),
    proof("any-port-will-do", "a cable is right if the node is", "&& info.local_port == to.port;", ";", "probe/proof/reading.cpp"),
    proof("wrong-way", "a cable that leads elsewhere is a way", "if (reading.state == CableReading::State::as_expected) {\n                ways_",
          "if (reading.state != CableReading::State::silent) {\n                ways_", "probe/proof/reading.cpp"),
]
