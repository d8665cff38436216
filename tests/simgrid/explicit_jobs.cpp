/* explicit_jobs.cpp - the jobs of tests/common/explicit_spec.h under SimGrid: one line of JSON.
 *
 * usage: explicit_jobs actors|chained [KEY=VALUE]...
 *
 * An actor a GPU, with mailboxes that have a permanent receiver, so that a message leaves when it is
 * sent, not when somebody waits for it; or no actors, and what ends starts what follows. (A graph of
 * all activities, given to the engine at once, takes a hundred times as long.) The network model is CM02 (Casanova & Marchal 2002): the latency of the
 * route, then a max-min fair share of every link, as 1 / latency; no acknowledgements, no TCP
 * window. Seconds are of CPU. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/common/explicit_spec.h"

namespace s4u = simgrid::s4u;

static const double FLOPS = 1e12; /* of a host: what runs on it is given in seconds */

static double cpu_s()
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Times to 1e-12 s, which is not slower here than as SimGrid comes. */
static void configure()
{
    s4u::Engine::set_config("network/model:CM02");
    s4u::Engine::set_config("network/crosstraffic:0");
    s4u::Engine::set_config("network/TCP-gamma:0");
#if SIMGRID_VERSION >= 33400
    s4u::Engine::set_config("precision/timing:1e-12");
    s4u::Engine::set_config("precision/work-amount:1e-9");
#else
    s4u::Engine::set_config("surf/precision:1e-12");
    s4u::Engine::set_config("maxmin/precision:1e-9");
#endif
}

/* ---- platforms ---- */

using zone = s4u::NetZone;
using netpoint = simgrid::kernel::routing::NetPoint;
using hosts = std::vector<s4u::Host *>;

static s4u::LinkInRoute along(const s4u::Link *link, bool up)
{
    const auto *pair = dynamic_cast<const s4u::SplitDuplexLink *>(link);
    return {pair, up ? s4u::LinkInRoute::Direction::UP : s4u::LinkInRoute::Direction::DOWN};
}

static zone *new_root(s4u::Engine &engine)
{
#if SIMGRID_VERSION >= 40000
    return engine.get_netzone_root()->add_netzone_full("root");
#else
    (void)engine;
    return s4u::create_full_zone("root");
#endif
}

static zone *new_star(zone *root, const std::string &name)
{
#if SIMGRID_VERSION >= 40000
    return root->add_netzone_star(name);
#else
    return s4u::create_star_zone(name)->set_parent(root);
#endif
}

/* A star of GPUs: its switch, where routes to other nodes begin. */
static netpoint *new_node(zone *star, hosts &gpus)
{
    for (uint32_t g = 0; g < EXPLICIT_NODE; g++) {
        const std::string name = "gpu" + std::to_string(gpus.size());
        auto *host = star->create_host(name, FLOPS)->seal();
        auto *port = star->create_split_duplex_link(name + "port", EXPLICIT_PORT_BPS)
                         ->set_latency(EXPLICIT_PORT_S)
                         ->seal();
        star->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {along(port, true)}, true);
        gpus.push_back(host);
    }
    auto *nvswitch = star->create_router(star->get_name() + "switch");
    star->add_route(nvswitch, nullptr, nullptr, nullptr, std::vector<s4u::LinkInRoute>(), true);
    star->seal();
    return nvswitch;
}

static hosts two_level(s4u::Engine &engine, uint32_t n)
{
    hosts gpus;
    auto *root = new_root(engine);
    std::vector<zone *> nodes;
    std::vector<netpoint *> switches;
    std::vector<const s4u::Link *> nics;
    for (uint32_t i = 0; i < n / EXPLICIT_NODE; i++) {
        const std::string name = "node" + std::to_string(i);
        nodes.push_back(new_star(root, name));
        switches.push_back(new_node(nodes[i], gpus));
        nics.push_back(root->create_split_duplex_link(name + "nic", EXPLICIT_NIC_BPS)
                           ->set_latency(EXPLICIT_NIC_S)
                           ->seal());
    }
    for (uint32_t i = 0; i < nodes.size(); i++) {
        for (uint32_t k = 0; k < nodes.size(); k++) {
            if (i != k) {
                root->add_route(nodes[i]->get_netpoint(), nodes[k]->get_netpoint(), switches[i],
                                switches[k], {along(nics[i], true), along(nics[k], false)}, false);
            }
        }
    }
    root->seal();
    return gpus;
}

/* SimGrid's own fat tree, with its own D-mod-k routes. */
static hosts fat_tree(uint32_t n)
{
    hosts gpus;
    auto make = [&gpus](zone *z, const std::vector<unsigned long> &, unsigned long id) {
        auto *host = z->create_host("gpu" + std::to_string(id), FLOPS)->seal();
        gpus.push_back(host);
        return std::make_pair(host->get_netpoint(), (netpoint *)nullptr);
    };
    const s4u::FatTreeParams shape{
        2, {EXPLICIT_LEAF, n / EXPLICIT_LEAF}, {1, EXPLICIT_LEAF}, {1, 1}};
    const auto policy = s4u::Link::SharingPolicy::SPLITDUPLEX;
    auto *z = s4u::create_fatTree_zone("tree", nullptr, shape, {make, {}, {}}, EXPLICIT_TREE_BPS,
                                       EXPLICIT_TREE_S, policy);
    z->seal();
    return gpus;
}

/* ---- a job as actors ---- */

static char token; /* what messages carry: their sizes are given */

static s4u::ActorPtr new_actor(s4u::Host *host, const std::function<void()> &code)
{
#if SIMGRID_VERSION >= 40000
    return host->add_actor(host->get_name(), code);
#else
    return s4u::Actor::create(host->get_name(), host, code);
#endif
}

static s4u::Mailbox *box_of(const char *what, uint32_t number)
{
    return s4u::Mailbox::by_name(what + std::to_string(number));
}

static uint32_t next_in_ring(const explicit_spec &spec, uint32_t i)
{
    const uint32_t size = explicit_ring_size(&spec);
    return i / size * size + (i + 1) % size;
}

/* A member sends on what it got in the step before. */
static void act_rings(const explicit_spec &spec, const hosts &gpus)
{
    const uint32_t steps = explicit_ring_steps(&spec), n = spec.hosts;
    const std::shared_ptr<uint32_t> order(explicit_ring_hosts(&spec), free);
    const std::shared_ptr<uint64_t> bytes(explicit_ring_bytes(&spec), free);
    for (uint32_t i = 0; i < n; i++) {
        auto *in = box_of("ring", i), *out = box_of("ring", next_in_ring(spec, i));
        in->set_receiver(new_actor(gpus[order.get()[i]], [=] {
            for (uint32_t s = 0; s < steps; s++) {
                auto sent = out->put_async(&token, bytes.get()[(size_t)s * n + i]);
                in->get<char>();
                sent->wait();
            }
        }));
    }
}

static double layer_flops(const explicit_spec &spec, bool forward)
{
    return spec.forward_s * (forward ? 1 : 2) / spec.layers * FLOPS;
}

/* All passes of a stage of one replica. */
static void act_stage(const explicit_spec &spec, uint32_t stage, uint32_t gpu)
{
    const std::unique_ptr<explicit_slot, void (*)(void *)> slots(explicit_pipe_slots(&spec, stage),
                                                                 free);
    const uint32_t last = spec.stages - 1;
    for (uint32_t i = 0; i < 2 * spec.micro_batches; i++) {
        const bool forward = slots.get()[i].forward;
        if (stage != (forward ? 0 : last)) {
            box_of(forward ? "act" : "grad", gpu)->get<char>();
        }
        for (uint32_t l = 0; l < spec.layers; l++) {
            s4u::this_actor::execute(layer_flops(spec, forward));
        }
        if (stage != (forward ? last : 0)) {
            auto *to = box_of(forward ? "act" : "grad", forward ? gpu + 1 : gpu - 1);
            to->put_init(&token, (uint64_t)spec.message_bytes)->detach();
        }
    }
}

static void act_pipes(const explicit_spec &spec, const hosts &gpus)
{
    for (uint32_t gpu = 0; gpu < spec.hosts; gpu++) {
        auto actor = new_actor(gpus[gpu], [=] { act_stage(spec, gpu % spec.stages, gpu); });
        box_of("act", gpu)->set_receiver(actor);
        box_of("grad", gpu)->set_receiver(actor);
    }
}

/* ---- the same without actors: what ends starts what follows ---- */

static std::unordered_map<const s4u::Activity *, std::pair<s4u::ActivityPtr, std::function<void()>>>
    going;

static void begin(const s4u::ActivityPtr &activity, std::function<void()> then)
{
    going[activity.get()] = {activity, std::move(then)};
#if SIMGRID_VERSION >= 33300
    activity->start();
#else
    activity->vetoable_start();
#endif
}

static void ended(const s4u::Activity &activity)
{
    auto it = going.find(&activity);
    if (it != going.end()) {
        const auto entry = std::move(it->second);
        going.erase(it);
        entry.second();
    }
}

static void listen()
{
#if SIMGRID_VERSION >= 33400
    s4u::Comm::on_completion_cb([](const s4u::Comm &comm) { ended(comm); });
    s4u::Exec::on_completion_cb([](const s4u::Exec &exec) { ended(exec); });
#else
    s4u::Activity::on_completion_cb(ended);
#endif
}

static s4u::CommPtr message(s4u::Host *from, s4u::Host *to, uint64_t bytes)
{
    auto comm = s4u::Comm::sendto_init(from, to);
    comm->set_payload_size(bytes);
    return comm;
}

struct ring_member {
    uint32_t step, received;
    bool sending;
};

struct ring_job {
    const explicit_spec &spec;
    const hosts &gpus;
    const std::unique_ptr<uint32_t, void (*)(void *)> order;
    const std::unique_ptr<uint64_t, void (*)(void *)> bytes;
    std::vector<ring_member> members;

    void send_next(uint32_t i)
    {
        ring_member &m = members[i];
        const uint32_t next = next_in_ring(spec, i);
        if (m.sending || m.step == explicit_ring_steps(&spec) || m.received < m.step) {
            return;
        }
        m.sending = true;
        begin(message(gpus[order.get()[i]], gpus[order.get()[next]],
                      bytes.get()[(size_t)m.step * spec.hosts + i]),
              [this, i, next] {
                  members[i].sending = false;
                  members[i].step++;
                  members[next].received++;
                  send_next(i);
                  send_next(next);
              });
    }
};

static void chain_rings(const explicit_spec &spec, const hosts &gpus)
{
    static ring_job job{spec,
                        gpus,
                        {explicit_ring_hosts(&spec), free},
                        {explicit_ring_bytes(&spec), free},
                        std::vector<ring_member>(spec.hosts)};
    for (uint32_t i = 0; i < spec.hosts; i++) {
        job.send_next(i);
    }
}

struct pipe_gpu {
    std::unique_ptr<explicit_slot, void (*)(void *)> slots;
    uint32_t slot, layer, arrived[2]; /* by forward */
    bool busy;
};

struct pipe_job {
    const explicit_spec &spec;
    const hosts &gpus;
    std::vector<pipe_gpu> state;

    void end_slot(uint32_t gpu, bool forward)
    {
        const uint32_t to = forward ? gpu + 1 : gpu - 1;
        state[gpu].slot++;
        state[gpu].layer = 0;
        if (gpu % spec.stages != (forward ? spec.stages - 1 : 0)) {
            begin(message(gpus[gpu], gpus[to], (uint64_t)spec.message_bytes), [this, to, forward] {
                state[to].arrived[forward]++;
                compute_next(to);
            });
        }
    }

    void compute_next(uint32_t gpu)
    {
        pipe_gpu &g = state[gpu];
        if (g.busy || g.slot == 2 * spec.micro_batches) {
            return;
        }
        const explicit_slot slot = g.slots.get()[g.slot];
        const bool takes = gpu % spec.stages != (slot.forward ? 0 : spec.stages - 1);
        if (takes && g.arrived[slot.forward] <= slot.mb) {
            return;
        }
        g.busy = true;
        auto exec = s4u::Exec::init();
        exec->set_flops_amount(layer_flops(spec, slot.forward))->set_host(gpus[gpu]);
        begin(exec, [this, gpu, slot] {
            state[gpu].busy = false;
            if (++state[gpu].layer == spec.layers) {
                end_slot(gpu, slot.forward);
            }
            compute_next(gpu);
        });
    }
};

static void chain_pipes(const explicit_spec &spec, const hosts &gpus)
{
    static pipe_job job{spec, gpus, {}};
    for (uint32_t gpu = 0; gpu < spec.hosts; gpu++) {
        job.state.push_back(
            {{explicit_pipe_slots(&spec, gpu % spec.stages), free}, 0, 0, {0, 0}, false});
    }
    for (uint32_t gpu = 0; gpu < spec.hosts; gpu++) {
        job.compute_next(gpu);
    }
}

int main(int argc, char **argv)
{
    s4u::Engine engine(&argc, argv);
    struct explicit_spec spec = explicit_spec_default();
    const bool chained = argc > 1 && strcmp(argv[1], "chained") == 0;
    if ((!chained && (argc < 2 || strcmp(argv[1], "actors") != 0)) ||
        !explicit_spec_parse(&spec, argc - 2, (const char *const *)argv + 2)) {
        fprintf(stderr, "usage: explicit_jobs actors|chained [KEY=VALUE]... "
                        "(tests/common/explicit_spec.h)\n");
        return 2;
    }
    configure();
    const double t0 = cpu_s();
    const hosts gpus =
        spec.platform == EXPLICIT_TWO_LEVEL ? two_level(engine, spec.hosts) : fat_tree(spec.hosts);
    if (chained) {
        listen();
        (spec.pipe ? chain_pipes : chain_rings)(spec, gpus);
    } else {
        (spec.pipe ? act_pipes : act_rings)(spec, gpus);
    }
    const double t1 = cpu_s();
    engine.run();
    const double t2 = cpu_s();
    printf("{\"simulated_s\": %.12f, \"build_s\": %.6f, \"run_s\": %.6f}\n",
           s4u::Engine::get_clock(), t1 - t0, t2 - t1);
    return EXIT_SUCCESS;
}
