// molecules/main.cc -- gpdesk-molecules: reads SMILES with RDKit for gpdesk, one request after the
// other (protocol.h).  It may be killed at any time: RDKit cannot be interrupted, and a short text
// can keep it busy for ever.
//
//     gpdesk-molecules --version            says what it is
//     gpdesk-molecules serve PARENT MEMORY  answers requests of the process PARENT, in at most
//                                           MEMORY bytes of address space
#include "molecules/protocol.h"

#include <GraphMol/ChemTransforms/ChemTransforms.h>
#include <GraphMol/Depictor/RDDepictor.h>
#include <GraphMol/Descriptors/MolDescriptors.h>
#include <GraphMol/Fingerprints/MorganFingerprints.h>
#include <GraphMol/GraphMol.h>
#include <GraphMol/MolOps.h>
#include <GraphMol/SmilesParse/SmilesParse.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>
#include <RDGeneral/RDLog.h>
#include <RDGeneral/versions.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

using molecule = std::unique_ptr<RDKit::ROMol>;

struct answer {
    molecules_got got{};
    std::vector<double> descriptors;
    std::vector<std::uint32_t> places, counts;
    std::string canonical, scaffold, drawn, reason;
};

// What RDKit says while it reads; nothing of it reaches a screen.
std::ostringstream *said;

void listen_to_rdkit()
{
    said = new std::ostringstream;
    RDLog::InitLogs();
    boost::logging::disable_logs("rdApp.*");
    rdErrorLog = std::make_shared<boost::logging::rdLogger>(said);
}

// One line of what RDKit said, as a sentence can contain it: without the time, the name of the
// error, the text that was read, and what is not printable.
std::string in_words(std::string text)
{
    if (text.compare(0, 1, "[") == 0 && text.find("] ") == 9)
        text.erase(0, 11);
    text.erase(std::min(text.find('\n'), text.size()));
    if (text.compare(0, 20, "SMILES Parse Error: ") == 0)
        text.erase(0, 20);
    text.erase(std::min(text.find(" for input:"), text.size()));
    const auto quoted = text.find(" while parsing:");
    text.erase(std::min(quoted, text.size()));
    for (char &c : text)
        if (c < ' ' || c > '~')
            c = '?';
    while (!text.empty() && (text.back() == ' ' || text.back() == '.'))
        text.pop_back();
    if (text.size() > MOLECULES_REASON_MOST)
        text.resize(MOLECULES_REASON_MOST);
    return text.empty() ? "RDKit cannot read it" : text;
}

// The fragment with the most heavy atoms; of several the heaviest; of these the first by its
// canonical SMILES.
molecule largest(const std::vector<boost::shared_ptr<RDKit::ROMol>> &fragments)
{
    const RDKit::ROMol *best = nullptr;
    double best_weight = 0;
    std::string best_text;

    for (const auto &f : fragments) {
        const double weight = RDKit::Descriptors::calcAMW(*f);
        const std::string text = RDKit::MolToSmiles(*f);
        const bool more = best == nullptr || f->getNumHeavyAtoms() > best->getNumHeavyAtoms();
        const bool same = best != nullptr && f->getNumHeavyAtoms() == best->getNumHeavyAtoms();
        if (more || (same && (weight > best_weight ||
                              (weight == best_weight && text < best_text)))) {
            best = f.get();
            best_weight = weight;
            best_text = text;
        }
    }
    return std::make_unique<RDKit::ROMol>(*best);
}

void describe(const RDKit::ROMol &m, std::vector<double> &out)
{
    double logp, mr;

    RDKit::Descriptors::calcCrippenDescriptors(m, logp, mr);
    out = {logp,
           mr,
           RDKit::Descriptors::calcTPSA(m),
           RDKit::Descriptors::calcAMW(m),
           static_cast<double>(RDKit::Descriptors::calcNumHBD(m)),
           static_cast<double>(RDKit::Descriptors::calcNumHBA(m)),
           static_cast<double>(RDKit::Descriptors::calcNumRotatableBonds(m)),
           static_cast<double>(RDKit::Descriptors::calcNumRings(m)),
           static_cast<double>(RDKit::Descriptors::calcNumAromaticRings(m)),
           RDKit::Descriptors::calcFractionCSP3(m)};
}

using environments = RDKit::MorganFingerprints::BitInfoMap;
using sparse_counts = std::unique_ptr<RDKit::SparseIntVect<std::uint32_t>>;

sparse_counts morgan(const RDKit::ROMol &m, const molecules_ask &ask, environments *from)
{
    const bool chirality = (ask.flags & MOLECULES_CHIRALITY) != 0;

    return sparse_counts(
        ask.size == 0
            ? RDKit::MorganFingerprints::getFingerprint(m, ask.radius, nullptr, nullptr, chirality,
                                                        true, true, false, from)
            : RDKit::MorganFingerprints::getHashedFingerprint(m, ask.radius, ask.size, nullptr,
                                                              nullptr, chirality, true, false,
                                                              from));
}

void fingerprint(const RDKit::ROMol &m, const molecules_ask &ask, answer &out)
{
    const sparse_counts counts = morgan(m, ask, nullptr);

    for (const auto &pair : counts->getNonzeroElements()) { // a map: places rise
        out.places.push_back(pair.first);
        out.counts.push_back((ask.flags & MOLECULES_BITS) != 0 ? 1 : pair.second);
    }
}

// Atoms in the plane, bonds, and the atoms that the counts of the fingerprint come from.
std::string drawing(RDKit::ROMol &m, const molecules_ask &ask)
{
    environments from;
    std::ostringstream out;

    morgan(m, ask, &from);
    RDDepict::compute2DCoords(m);
    for (const auto *a : m.atoms()) {
        const auto at = m.getConformer().getAtomPos(a->getIdx());
        out << "a " << (a->getAtomicNum() > 0 ? a->getSymbol() : "*") << ' '
            << a->getFormalCharge() << ' ' << a->getTotalNumHs() << ' '
            << std::lround(1000 / 1.5 * at.x) << ' ' << std::lround(1000 / 1.5 * at.y) << ';';
    }
    for (const auto *b : m.bonds()) {
        const auto t = b->getBondType();
        out << "b " << b->getBeginAtomIdx() << ' ' << b->getEndAtomIdx() << ' '
            << (b->getIsAromatic()                 ? 4
                : t == RDKit::Bond::BondType::DOUBLE ? 2
                : t == RDKit::Bond::BondType::TRIPLE ? 3
                                                     : 1)
            << ';';
    }
    for (const auto &place : from)
        for (const auto &where : place.second)
            out << "e " << place.first << ' ' << where.first << ' ' << where.second << ';';
    return out.str();
}

void look_at(const molecules_request &r, answer &out)
{
    RDKit::SmilesParserParams how;
    how.allowCXSMILES = false;
    molecule m(RDKit::SmilesToMol(std::string(r.text, r.length), how));

    if (m == nullptr || m->getNumAtoms() == 0) {
        out.got.state = MOLECULES_UNREADABLE;
        out.reason = m == nullptr ? in_words(said->str()) : "it has no atoms";
        return;
    }
    std::vector<int> fragment_of;
    out.got.fragments = RDKit::MolOps::getMolFrags(*m, fragment_of);
    if (out.got.fragments > 1 && (r.ask.flags & MOLECULES_LARGEST) != 0)
        m = largest(RDKit::MolOps::getMolFrags(*m));
    if ((r.ask.want & MOLECULES_COUNTS) != 0)
        fingerprint(*m, r.ask, out);
    if ((r.ask.want & MOLECULES_CANONICAL) != 0)
        out.canonical = RDKit::MolToSmiles(*m);
    if ((r.ask.want & MOLECULES_DESCRIBED) != 0)
        describe(*m, out.descriptors);
    if ((r.ask.want & MOLECULES_SCAFFOLD) != 0) {
        molecule s(RDKit::MurckoDecompose(*m));
        out.scaffold = s == nullptr ? "" : RDKit::MolToSmiles(*s);
    }
    if ((r.ask.want & MOLECULES_DRAWN) != 0)
        out.drawn = drawing(*m, r.ask);
}

// What a molecule that cannot be read is told; nothing that was found before counts.
answer refused(molecules_state state, const std::string &why)
{
    answer a;

    a.got.state = state;
    a.reason = why;
    return a;
}

answer answer_to(const molecules_request &r)
{
    answer a;

    said->str("");
    try {
        look_at(r, a);
    } catch (const std::bad_alloc &) {
        return refused(MOLECULES_NO_MEMORY, "it takes more memory than allowed");
    } catch (const std::exception &e) {
        return refused(MOLECULES_UNREADABLE, in_words(e.what()));
    } catch (...) {
        return refused(MOLECULES_UNREADABLE, "RDKit cannot read it");
    }
    if (a.places.size() > MOLECULES_PAIRS_MOST || a.canonical.size() > MOLECULES_ANSWER_MOST ||
        a.scaffold.size() > MOLECULES_ANSWER_MOST || a.drawn.size() > MOLECULES_ANSWER_MOST)
        return refused(MOLECULES_NO_MEMORY, "its answer is too long");
    return a;
}

bool take_all(void *to, std::size_t n)
{
    for (char *at = static_cast<char *>(to); n > 0;) {
        const ssize_t got = read(0, at, n);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        if (got > 0) {
            at += got;
            n -= static_cast<std::size_t>(got);
        }
    }
    return true;
}

bool give_all(int fd, const std::string &bytes)
{
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t put = write(fd, bytes.data() + at, bytes.size() - at);
        if (put < 0 && errno != EINTR)
            return false;
        at += put > 0 ? static_cast<std::size_t>(put) : 0;
    }
    return true;
}

template <typename T> void append(std::string &to, const T *from, std::size_t n)
{
    to.append(reinterpret_cast<const char *>(from), n * sizeof(T));
}

bool reply(int fd, molecules_kind kind, std::uint32_t serial, const std::string &body)
{
    const molecules_head head = {MOLECULES_MAGIC, static_cast<std::uint32_t>(kind), serial,
                                 static_cast<std::uint32_t>(body.size())};
    std::string all;

    append(all, &head, 1);
    return give_all(fd, all + body);
}

std::string body_of(const answer &a)
{
    molecules_got got = a.got;
    std::string body;

    got.described = static_cast<std::uint32_t>(a.descriptors.size());
    got.pairs = static_cast<std::uint32_t>(a.places.size());
    got.canonical = static_cast<std::uint32_t>(a.canonical.size());
    got.scaffold = static_cast<std::uint32_t>(a.scaffold.size());
    got.drawn = static_cast<std::uint32_t>(a.drawn.size());
    got.reason = static_cast<std::uint32_t>(a.reason.size());
    append(body, &got, 1);
    append(body, a.descriptors.data(), a.descriptors.size());
    append(body, a.places.data(), a.places.size());
    append(body, a.counts.data(), a.counts.size());
    return body + a.canonical + a.scaffold + a.drawn + a.reason;
}

// Answers until its input ends; returns the exit status.
int serve(int out)
{
    molecules_head h;
    std::vector<unsigned char> body;

    while (take_all(&h, sizeof h)) {
        if (h.kind == MOLECULES_VERSION) {
            const std::uint32_t number = MOLECULES_PROTOCOL;
            std::string is;
            append(is, &number, 1);
            if (molecules_head_wrong(&h, MOLECULES_VERSION, 0) != nullptr ||
                !reply(out, MOLECULES_IS, h.serial, is + RDKit::rdkitVersion))
                return 1;
            continue;
        }
        molecules_request r;
        if (molecules_head_wrong(&h, MOLECULES_READ, MOLECULES_REQUEST_MOST) != nullptr)
            return 1;
        body.resize(h.bytes);
        if (!take_all(body.data(), body.size()) ||
            molecules_request_parse(body.data(), body.size(), &r) != nullptr ||
            !reply(out, MOLECULES_GOT, h.serial, body_of(answer_to(r))))
            return 1;
    }
    return 0;
}

// Ends with its parent, stays within the memory, and leaves no core behind.  False if it cannot.
bool bound(const char *parent, const char *memory)
{
    char *end1, *end2;
    const long pid = std::strtol(parent, &end1, 10);
    const unsigned long long bytes = std::strtoull(memory, &end2, 10);
    const rlimit most = {static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
    const rlimit none = {0, 0};

    if (*end1 != '\0' || *end2 != '\0' || bytes == 0)
        return false;
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == pid &&
           setrlimit(RLIMIT_AS, &most) == 0 && setrlimit(RLIMIT_CORE, &none) == 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 2 && std::string(argv[1]) == "--version") {
        std::printf("gpdesk-molecules, protocol %d, RDKit %s\n", MOLECULES_PROTOCOL,
                    RDKit::rdkitVersion);
        return 0;
    }
    if (argc != 4 || std::string(argv[1]) != "serve" || !bound(argv[2], argv[3])) {
        std::fprintf(stderr, "gpdesk-molecules reads SMILES for gpdesk, which starts it; by hand: "
                             "gpdesk-molecules --version\n");
        return 2;
    }
    // Whatever a library prints goes nowhere, and never between two messages.
    const int out = dup(1), nowhere = open("/dev/null", O_WRONLY);
    if (out < 0 || nowhere < 0 || dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0)
        return 1;
    std::signal(SIGPIPE, SIG_IGN);
    try {
        listen_to_rdkit();
        return serve(out);
    } catch (...) {
        return 1;
    }
}
