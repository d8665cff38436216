#!/usr/bin/env python3
"""The figures of the ledger against small cases worked out by hand."""
import sys

import ledger
import page
import scores


def close(a, b):
    return abs(a - b) < 1e-9


def refuses(call, *args):
    try:
        call(*args)
    except RuntimeError:
        return True
    return False


def brute_force(pairs):
    """Mean error under the best of many factors."""
    return min(sum(abs(f / 1e4 * s / m - 1) for m, s in pairs) / len(pairs) * 100
               for f in range(1, 30000))


PAIRS = [(1.0, 1.1), (2.0, 1.8), (4.0, 4.0), (8.0, 12.0)]
FIGURES = scores.errors(PAIRS)
# two layouts that ran and one that did not; (simulated, fits, measured, MFU)
SLOWER_CHOSEN = [(1.0, True, 3.0, 0.40), (2.0, True, 2.0, 0.60), (0.5, False, None, None)]
DID_NOT_RUN = [(1.0, True, 3.0, 0.40), (2.0, True, 2.0, 0.60), (0.5, True, None, None)]
BLOCK = "<!-- ledger: a -->\nold\n<!-- end -->\n"

CHECKS = [
    ("errors: mean, median, bias", close(FIGURES["mean"], 17.5) and close(FIGURES["median"], 10)
     and close(FIGURES["bias"], 12.5)),
    ("the 90th percentile is between the two largest", close(FIGURES["p90"], 0.3 * 10 + 0.7 * 50)),
    ("equal values share their rank", scores.ranks([3, 1, 3, 2]) == [3.5, 1, 3.5, 2]),
    ("rank correlation of an order and its reverse",
     close(scores.spearman([(1, 10), (2, 20), (3, 30)]), 1)
     and close(scores.spearman([(1, 30), (2, 20), (3, 10)]), -1)),
    ("rank correlation of one exchange among four",
     close(scores.spearman([(1, 1), (2, 3), (3, 2), (4, 4)]), 0.8)),
    ("small sweeps have no rank correlation", scores.spearman_within([[(1, 1), (2, 2)]])
     == (None, 0)),
    ("the best factor is the best of many", abs(scores.scaled_error(PAIRS)[0]
                                                - brute_force(PAIRS)) < 0.05),
    ("a slower choice costs its points of MFU", close(scores.regret([SLOWER_CHOSEN])[0][0], 20)),
    ("a choice that did not run is counted", scores.regret([DID_NOT_RUN]) == ([], 1)),
    ("a worse figure fails", not ledger.compare("x", {"mean": 5.4}, {"mean": 5.0})[0]),
    ("a figure within its tolerance passes", ledger.compare("x", {"mean": 5.2}, {"mean": 5.0})[0]),
    ("a lower rank correlation fails",
     not ledger.compare("x", {"spearman": 0.9}, {"spearman": 0.95})[0]),
    ("a better figure passes and says so",
     ledger.compare("x", {"mean": 4.0}, {"mean": 5.0}) == (True, "x # better: mean 5 -> 4")),
    ("a figure that is gone fails", not ledger.compare("x", {}, {"mean": 5.0})[0]),
    ("a set that was never recorded fails", not ledger.compare("x", {"mean": 5.0}, None)[0]),
    ("a block is put between its marks", page.fill(BLOCK, {"a": "new\n"})
     == BLOCK.replace("old", "new")),
    ("a page without a mark for a block is refused", refuses(page.fill, BLOCK, {"a": "", "b": ""})),
    ("a mark without a block is refused", refuses(page.fill, BLOCK, {})),
]


def main():
    print(f"1..{len(CHECKS)}")
    for number, (fact, good) in enumerate(CHECKS, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {fact}")
    return 0 if all(good for _, good in CHECKS) else 1


if __name__ == "__main__":
    sys.exit(main())
