"""The examples as tests run them: a test that reads every slice takes the long ones with no more
micro-batches than fill their pipelines twice, and some rows of its table; with --all, as in the
suite `slow`, everything is as it stands."""
import sys

WHOLE = "--all" in sys.argv
BATCH = {
    "custom-cluster.yaml": 64, "gpipe-memory.yaml": 64, "gpt3-175b-1024xa100.yaml": 256,
    "llama-30b-256xa100.yaml": 256, "llama-65b-256xa100.yaml": 128,
    "llama3-8b-fsdp-8xh100.yaml": 16, "oversubscribed.yaml": 256, "own-job.yaml": 64,
}


def shortened(example, options=()):
    """Options that make a run of it short, if they do not set the batch themselves."""
    batch = None if WHOLE else BATCH.get(str(example))
    if batch is None or any("layout.global_batch" in word for word in options):
        return list(options)
    return ["--set", f"layout.global_batch={batch}", *options]


def thinned(rows, every, first=0):
    """Every so-manieth row from one of the first on."""
    return rows if WHOLE else rows[first % every::every]
