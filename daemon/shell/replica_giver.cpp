#include "daemon/shell/replica_giver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "db/record_codec.hpp"

namespace ibf::shell {
namespace {

core::Peer peer_of(const Hello& hello, const std::string& certified) {
    return {hello.guid, hello.name.empty() ? certified : hello.name};
}

}  // namespace

bool Hub::refuses(const core::Peer& peer, const core::ConfigDigests& theirs) const {
    std::vector<std::string> differences = core::differences(identity.digests, theirs);
    const bool refused = !differences.empty() && config.on_difference == OnDifference::refuse;
    static_cast<void>(sink(core::PeerCompared{peer, std::move(differences)}));
    return refused;
}

void Hub::remember(db::Batch&& batch) {
    for (const db::Record& record : batch) {
        if (const auto* event = std::get_if<db::EventRow>(&record)) {
            newest.after_event = std::max(newest.after_event, event->id);
        } else if (const auto* sweep = std::get_if<db::SweepRecord>(&record)) {
            newest.after_sweep = std::max(newest.after_sweep, sweep->id);
        }
    }
    memory.absorb(std::move(batch));
}

// --- the giver

Giver::Giver(boost::asio::ip::tcp::socket&& socket, Terms terms, std::string address, Hub& hub,
             std::function<void(const std::string&)> ended)
    : Channel(std::move(socket), std::move(terms), Side::giver, std::move(address)),
      hub_(hub),
      ended_(std::move(ended)) {}

void Giver::introduce() {
    send(Hello{kReplicaVersion, hub_.identity.self.guid, hub_.identity.self.name, hub_.identity.digests});
    send(Standing{hub_.standing.is_master});
}

void Giver::received(Frame&& frame) {
    if (const auto* hello = std::get_if<Hello>(&frame)) {
        on_hello(*hello);
    } else if (const auto* want = std::get_if<Want>(&frame)) {
        wanted_ = *want;
        end();
        begin();
    } else if (!std::holds_alternative<Beat>(frame)) {
        close("it sends what only a master sends");
    }
}

void Giver::on_hello(const Hello& hello) {
    if (hello.version != kReplicaVersion) {
        return close(fmt::format("it speaks version {} of the format, we {}: update one of the two",
                                 hello.version, kReplicaVersion));
    }
    if (hello.guid == hub_.identity.self.guid) {
        return;  // ourselves: the taker ends it
    }
    hello_ = hello;
    refused_ = hub_.refuses(peer_of(hello, certified()), hello.digests);
    refused_ ? end() : begin();
}

void Giver::compare_again() {
    introduce();
    if (hello_) {
        on_hello(Hello(*hello_));
    }
}

void Giver::standing_changed() {
    send(Standing{hub_.standing.is_master});
    if (hub_.standing.is_master) {
        return begin();
    }
    end();
    wanted_.reset();  // asked for anew, when there is something to be had
}

void Giver::begin() {
    if (giving_ || refused_ || !wanted_ || !hub_.standing.is_master) {
        return;
    }
    giving_ = true;
    whole_due_ = true;
    told_anybody_ = true;
    db::Waiting all = hub_.memory;
    db::Batch batch = all.take();
    std::erase_if(batch, [&](const db::Record& record) {
        const auto* event = std::get_if<db::EventRow>(&record);
        const auto* sweep = std::get_if<db::SweepRecord>(&record);
        return (event != nullptr && event->id <= wanted_->after_event) ||
               (sweep != nullptr && sweep->id <= wanted_->after_sweep);
    });
    outbox_.absorb(std::move(batch));
    pump();
}

void Giver::end() {
    giving_ = false;
    batch_.reset();
    octets_.clear();
    octets_sent_ = 0;
    outbox_ = db::Waiting(kReplicaHistory);
    told_clients_.clear();
}

void Giver::changed(const db::Batch& batch) {
    if (giving_) {
        outbox_.absorb(db::Batch(batch));
        pump();
    }
}

void Giver::told(mad::Guid client) {
    constexpr std::size_t kMost = 4096;
    if (!giving_) {
        return;
    }
    told_anybody_ = told_anybody_ || hub_.told == core::kEditionUnknown || told_clients_.size() >= kMost;
    if (client != mad::Guid{} && !told_anybody_) {
        told_clients_.insert(client);
    }
    pump();
}

void Giver::beat() {
    giving_ ? send(Told{hub_.told, core::ToldTo::nobody, {}}) : send(Beat{});
}

/// What clients were told goes before everything else: it may be the last thing that we say.
std::optional<std::string> Giver::bulk_told() {
    const bool news = told_anybody_ || !told_clients_.empty() || told_sent_ != hub_.told;
    if (!news) {
        return std::nullopt;
    }
    told_sent_ = hub_.told;
    if (std::exchange(told_anybody_, false)) {
        told_clients_.clear();
        return encode(Told{hub_.told, core::ToldTo::anybody, {}});
    }
    if (told_clients_.empty()) {
        return encode(Told{hub_.told, core::ToldTo::nobody, {}});
    }
    const mad::Guid client = *told_clients_.begin();
    told_clients_.erase(told_clients_.begin());
    return encode(Told{hub_.told, core::ToldTo::client, client});
}

bool Giver::idle() const {
    return !giving_ || (written() && outbox_.empty() && !batch_ && !whole_due_ && !told_anybody_ &&
                        told_clients_.empty() && told_sent_ == hub_.told);
}

std::optional<std::string> Giver::bulk() {
    if (!giving_) {
        return std::nullopt;
    }
    if (auto told = bulk_told()) {
        return told;
    }
    if (octets_sent_ < octets_.size()) {
        return next_piece();
    }
    if (!batch_) {
        if (outbox_.empty() && !whole_due_) {
            return std::nullopt;
        }
        batch_ = outbox_.take();
        record_ = 0;
        return encode(
            Begin{std::exchange(whole_due_, false), hub_.newest.after_event, hub_.newest.after_sweep});
    }
    if (record_ < batch_->size()) {
        octets_ = db::encode((*batch_)[record_++]);
        octets_sent_ = 0;
        return next_piece();
    }
    batch_.reset();
    octets_.clear();
    octets_sent_ = 0;
    return encode(Commit{++commits_});
}

std::string Giver::next_piece() {
    const std::size_t length = std::min(kPieceBytesMax, octets_.size() - octets_sent_);
    const std::size_t from = std::exchange(octets_sent_, octets_sent_ + length);
    return encode(Piece{octets_sent_ == octets_.size(), octets_.substr(from, length)});
}

// --- the taker

Taker::Taker(boost::asio::ip::tcp::socket&& socket, Terms terms, std::string address, Hub& hub, Place& place,
             Ended ended)
    : Channel(std::move(socket), std::move(terms), Side::taker, std::move(address)),
      hub_(hub),
      place_(place),
      ended_(std::move(ended)) {}

void Taker::introduce() {
    send(Hello{kReplicaVersion, hub_.identity.self.guid, hub_.identity.self.name, hub_.identity.digests});
}

void Taker::received(Frame&& frame) {
    if (const auto* hello = std::get_if<Hello>(&frame)) {
        on_hello(*hello);
    } else if (const auto* standing = std::get_if<Standing>(&frame)) {
        master_ = standing->is_master;
        wanted_ = wanted_ && master_;  // a copy that has come to its end is whole
        want_if_followed();
    } else if (const auto* told = std::get_if<Told>(&frame); told != nullptr && wanted_ && peer_) {
        if (!hub_.sink(core::CopyTold{*peer_, told->edition, told->to, told->client})) {
            close("more comes than can be taken in");
        }
    } else if (const auto* begin = std::get_if<Begin>(&frame);
               begin != nullptr && wanted_ && !batch_.under_way()) {
        batch_.begin(*begin);
    } else if (const auto* piece = std::get_if<Piece>(&frame); piece != nullptr && batch_.under_way()) {
        on_piece(*piece);
    } else if (const auto* commit = std::get_if<Commit>(&frame); commit != nullptr && batch_.under_way()) {
        on_commit(*commit);
    } else if (wanted_ && !std::holds_alternative<Beat>(frame) && !std::holds_alternative<Told>(frame)) {
        close("a frame where another one was due");
    }  // else: what was on its way when we stopped wanting it
}

void Taker::on_hello(const Hello& hello) {
    if (hello.version != kReplicaVersion) {
        return close(fmt::format("it speaks version {} of the format, we {}: update one of the two",
                                 hello.version, kReplicaVersion));
    }
    if (hello.guid == hub_.identity.self.guid) {
        itself_ = true;
        return close("these are we ourselves");
    }
    peer_ = peer_of(hello, certified());
    hello_ = hello;
    refused_ = hub_.refuses(*peer_, hello.digests);
    if (refused_ && wanted_) {
        return close("it is configured otherwise than we are");
    }
    want_if_followed();
}

void Taker::compare_again() {
    introduce();
    if (hello_) {
        on_hello(Hello(*hello_));
    }
}

void Taker::standing_changed() {
    if (hub_.standing.is_master) {
        wanted_ = false;  // what has come is ours now
        return;
    }
    if (wanted_ && peer_ && peer_->guid != hub_.standing.followed) {
        return close("another SM is followed");
    }
    want_if_followed();
}

void Taker::want_if_followed() {
    const bool followed = peer_ && peer_->guid == hub_.standing.followed && !hub_.standing.is_master;
    if (wanted_ || refused_ || !master_ || !followed) {
        return;
    }
    wanted_ = true;
    batch_.drop();
    send(place_.of == peer_->guid ? place_.known : place_.unknown);
}

void Taker::on_piece(const Piece& piece) {
    if (const auto added = batch_.add(piece); !added) {
        close(added.error().message);
    }
}

void Taker::on_commit(const Commit& commit) {
    auto whole = batch_.end(commit);
    if (!whole) {
        return close(whole.error().message);
    }
    place_.of = peer_->guid;
    place_.known = {whole->begun.last_event, whole->begun.last_sweep};
    const auto extent = whole->begun.whole ? sm::CopyExtent::whole : sm::CopyExtent::changes;
    if (!hub_.sink(core::CopyReceived{*peer_, extent, std::move(whole->records)})) {
        close("more comes than can be taken in");
    }
}

void Taker::closed(const std::string& why) {
    if (peer_ && wanted_) {
        static_cast<void>(hub_.sink(core::CopyEnded{*peer_, why}));
    }
    ended_(why, itself_);
}

}  // namespace ibf::shell
