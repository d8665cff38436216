/* chrome_counters.c - the memory of each rank over time.
 *
 * Activations are taken when a pass starts and given back when it ends; weights, gradients and
 * optimizer state stay. Every event carries all four series (Catapult reads the list from the first
 * one), and there is one event per change: what ends and what starts in the same nanosecond is one
 * change. */
#include "traces/chrome.h"

/* A member's last change: not written before time moves on. */
struct pending {
    uint64_t ns;
    uint64_t kB, written_kB; /* activations */
    bool any;                /* something was written */
};

struct counters {
    struct ty_chrome *c;
    const struct ty_chrome_cast *cast;
    struct pending *pending; /* [cast->n] */
    char fixed[512];         /* the series that do not change, up to the value of activations */
    size_t fixed_len;
};

static uint64_t to_kB(double bytes)
{
    return bytes > 0 ? (uint64_t)(bytes / 1e3 + 0.5) : 0;
}

static void put_fixed(struct counters *k)
{
    static const char *const names[] = {
#define X(id, name) name,
        TY_MEMORY(X)
#undef X
    };
    char *p =
        ty_put_str(k->fixed, ",\n{\"name\":\"memory\",\"cat\":\"memory\",\"ph\":\"C\",\"tid\":");
    p = ty_put_u64(p, ty_chrome_tid(TY_STREAM_COMPUTE));
    p = ty_put_str(p, ",\"args\":{");
    for (uint32_t m = 0; m < TY_N_MEMORY; m++) {
        if (m != TY_MEM_ACTIVATIONS) {
            *p++ = '"';
            p = ty_put_str(p, names[m]);
            p = ty_put_str(p, "_GB\":");
            p = ty_chrome_put_GB(p, to_kB(k->cast->gang->static_B[m]));
            *p++ = ',';
        }
    }
    *p++ = '"';
    p = ty_put_str(p, names[TY_MEM_ACTIVATIONS]);
    k->fixed_len = (size_t)(ty_put_str(p, "_GB\":") - k->fixed);
}

/* Writes the change that waits, at the window's start when it happened before. */
static void flush(struct counters *k, uint32_t i)
{
    struct pending *now = &k->pending[i];
    if (now->any && now->kB == now->written_kB) {
        return;
    }
    const struct ty_chrome_piece *piece = &k->cast->pieces[0][i];
    char *p = ty_out_room(k->c->out, TY_CHROME_LINE);
    p = ty_put_blocks(p, k->fixed, k->fixed_len);
    p = ty_chrome_put_GB(p, now->kB);
    *p++ = '}';
    p = ty_put_blocks(p, piece->text, piece->len);
    p = ty_put_ns_as_us(p, now->ns);
    *p++ = '}';
    ty_out_advance(k->c->out, p);
    now->written_kB = now->kB;
    now->any = true;
}

/* Activations are `kB` from `t` on. */
static void change(struct counters *k, uint32_t i, ty_ps t, uint64_t kB)
{
    struct pending *now = &k->pending[i];
    uint64_t ns = t / 1000;
    if (ns > k->c->to_ns) {
        return;
    }
    ns = ns < k->c->from_ns ? k->c->from_ns : ns;
    if (ns > now->ns) {
        flush(k, i);
        now->ns = ns;
    }
    now->kB = kB;
}

static int put_gang(struct counters *k)
{
    struct ty_chrome *c = k->c;
    const struct ty_gang *gang = k->cast->gang;
    const double fixed = gang->static_B[TY_MEM_ACTIVATIONS];
    double held = 0;
    put_fixed(k);
    for (uint32_t i = 0; i < k->cast->n; i++) {
        k->pending[i] = (struct pending){.ns = c->from_ns, .kB = to_kB(fixed)};
    }
    for (uint32_t n = 0; n < gang->n_passes; n++) {
        const struct ty_pass *pass = &ty_gang_passes(c->program, gang)[n];
        const struct ty_block *block = &c->program->blocks[pass->block];
        struct ty_chrome_extent extent;
        const uint64_t during = to_kB(fixed + held + block->acquire_B + block->transient_B);
        held += block->acquire_B - block->release_B;
        const uint64_t after = to_kB(fixed + held);
        if (!ty_chrome_extent(c, gang, pass, &extent)) {
            continue;
        }
        for (uint32_t i = 0; i < k->cast->n; i++) {
            const uint32_t m = k->cast->member[i];
            change(k, i, extent.start[m], during);
            change(k, i, ty_chrome_extent_end(&extent, m), after);
        }
    }
    for (uint32_t i = 0; i < k->cast->n; i++) {
        flush(k, i);
    }
    return 0;
}

int ty_chrome_counters(struct ty_chrome *c)
{
    int rc = 0;
    struct pending *pending = ty_arena_array(&c->arena, struct pending, c->largest);
    for (uint32_t g = 0; g < c->program->n_gangs && rc == 0; g++) {
        struct ty_chrome_cast *cast = &c->casts[g];
        struct counters counters = {.c = c, .cast = cast, .pending = pending};
        if (cast->n > 0) {
            const bool ok = pending != NULL && ty_chrome_pieces(c, cast, 0) != NULL;
            rc = ok ? put_gang(&counters) : TY_ENOMEM;
        }
    }
    return rc;
}
