/* simgrid_run.cpp - islands of flows in SimGrid: a zone each, a pair of hosts for every flow. */
#include <functional>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <string>
#include <vector>

#include "tests/simgrid/flows.h"

namespace s4u = simgrid::s4u;

struct sender {
    const sg_flow *flow;
    double *finish_s;
    s4u::Host *from, *to;
};

static s4u::NetZone *new_zone(s4u::NetZone *root, const std::string &name)
{
#if SIMGRID_VERSION >= 40000
    return root->add_netzone_full(name);
#else
    return s4u::create_full_zone(name)->set_parent(root);
#endif
}

static s4u::NetZone *new_root(s4u::Engine &engine)
{
#if SIMGRID_VERSION >= 40000
    return engine.get_netzone_root();
#else
    (void)engine;
    return s4u::create_full_zone("root");
#endif
}

static void build_island(s4u::NetZone *root, uint32_t number, sg_island &island,
                         std::vector<sender> &senders)
{
    const std::string name = "i" + std::to_string(number);
    auto *zone = new_zone(root, name);
    std::vector<s4u::Link *> links;
    for (uint32_t l = 0; l < island.n_links; l++) {
        links.push_back(zone->create_link(name + "l" + std::to_string(l), island.capacity_Bps[l])
                            ->set_latency(island.latency_s[l])
                            ->seal());
    }
    for (uint32_t f = 0; f < island.n_flows; f++) {
        const sg_flow &flow = island.flows[f];
        const std::string pair = name + "f" + std::to_string(f);
        auto *from = zone->create_host(pair + "a", 1e9)->seal();
        auto *to = zone->create_host(pair + "b", 1e9)->seal();
        std::vector<s4u::LinkInRoute> route;
        for (uint32_t i = 0; i < flow.n_links; i++) {
            route.emplace_back(links[flow.links[i]]);
        }
        zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
        senders.push_back({&flow, &island.finish_s[f], from, to});
    }
    zone->seal();
}

static void start_actor(const std::string &name, s4u::Host *host, const std::function<void()> &code)
{
#if SIMGRID_VERSION >= 40000
    host->add_actor(name, code);
#else
    s4u::Actor::create(name, host, code);
#endif
}

/* By mailbox: Comm::sendto() does not heed rates in all releases. */
static void start_actors(const sender &s)
{
    auto *box = s4u::Mailbox::by_name(s.from->get_name());
    start_actor("to", s.to, [s, box] {
        box->get<char>();
        *s.finish_s = s4u::Engine::get_clock();
    });
    start_actor("from", s.from, [s, box] {
        static char token;
        s4u::this_actor::sleep_until(s.flow->start_s);
        auto comm = box->put_init(&token, s.flow->bytes);
        if (s.flow->rate_Bps > 0) {
            comm->set_rate(s.flow->rate_Bps);
        }
        comm->start();
        comm->wait();
    });
}

void run_simgrid(struct sg_island *islands, uint32_t n)
{
    std::vector<std::string> words = {
        "test",
        "--log=root.threshold:error",
        "--cfg=network/model:CM02",
        "--cfg=network/crosstraffic:0",
        "--cfg=network/TCP-gamma:1e30", /* no TCP window: rates alone bound */
        "--cfg=contexts/stack-size:256",
#if SIMGRID_VERSION >= 33400
        "--cfg=precision/timing:1e-12",
        "--cfg=precision/work-amount:1e-9",
#else
        "--cfg=surf/precision:1e-12",
        "--cfg=maxmin/precision:1e-9",
#endif
    };
    std::vector<char *> argv;
    for (auto &w : words) {
        argv.push_back(&w[0]);
    }
    int argc = (int)argv.size();
    argv.push_back(nullptr);
    s4u::Engine engine(&argc, argv.data());
    auto *root = new_root(engine);
    std::vector<sender> senders;
    for (uint32_t i = 0; i < n; i++) {
        build_island(root, i, islands[i], senders);
    }
    root->seal();
    for (const auto &s : senders) {
        start_actors(s);
    }
    engine.run();
}
