"""Reads a .pftrace by the wire format alone, and the Chrome trace of the same run, into the same
form: compared by native.py. Nothing here knows how the writer works."""
import gzip
import json
import re
import struct

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: [values]} of a message: ints, 8 raw bytes, or bytes."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = data[at:at + 8], at + 8
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("message ends early")
        else:
            raise ValueError(f"wire type {tag & 7}")
        found.setdefault(tag >> 3, []).append(value)
    return found


def one(message, number, default=None):
    values = message.get(number, [default])
    if len(values) != 1:
        raise ValueError(f"field {number} is there {len(values)} times")
    return values[0]


def real(raw):
    return struct.unpack("<d", raw)[0]


class Native:
    """tracks: uuid -> (parent, order, name, description, unit, axis); slices: (track, start, end,
    depth, name, category, colour, args); flows: id -> [leaving slice, arriving slice]; values:
    (track, ns, value); marks: (track, ns, name, category, args)."""

    def __init__(self, data):
        self.tracks, self.slices, self.flows = {}, [], {}
        self.values, self.marks, self.sequences, self.open = [], [], {}, {}
        for number, packets in fields(data).items():
            if number != 1:
                raise ValueError("not a trace")
            events = [e for e in (self.packet(fields(p)) for p in packets) if e is not None]
        events.sort(key=lambda e: e[0])  # stable: as viewers do
        for ns, track, event, state in events:
            self.event(ns, track, event, state)
        if any(self.open.values()):
            raise ValueError("a slice never ends")

    def packet(self, packet):
        sequence = one(packet, 10)
        flags = one(packet, 13, 0)
        if flags & 1:
            self.sequences[sequence] = {"clock": 6, "track": None, "time": 0, "text": {}}
        state = self.sequences[sequence]  # KeyError: state that was never set up
        if 60 in packet:
            self.track(fields(one(packet, 60)))
        if 59 in packet:
            defaults = fields(one(packet, 59))
            state["clock"] = one(defaults, 58, 6)
            state["track"] = one(fields(one(defaults, 11)), 11)
        if 6 in packet:
            clocks = [fields(c) for c in fields(one(packet, 6))[1]]
            if [(one(c, 1), one(c, 2), one(c, 3, 0)) for c in clocks] != [(6, 0, 0), (64, 0, 1)]:
                raise ValueError("clocks")
        for table, entries in fields(one(packet, 12, b"")).items():
            for entry in map(fields, entries):
                state["text"][table, one(entry, 1)] = one(entry, 2).decode()
        if 11 not in packet:
            return None
        ns = one(packet, 8)
        if state["clock"] == 64:
            ns = state["time"] = state["time"] + ns
        event = fields(one(packet, 11))
        return ns, one(event, 11, state["track"]), event, state["text"]

    def track(self, track):
        uuid, counter = one(track, 1), fields(one(track, 8, b""))
        if uuid in self.tracks or one(track, 11, 3) != 3 or (8 in track) == (11 in track):
            raise ValueError("a track comes once, and orders its children explicitly")
        self.tracks[uuid] = (one(track, 5, 0), one(track, 12), one(track, 2).decode(),
                             one(track, 14, b"").decode(), one(counter, 6, b"").decode(),
                             one(counter, 7, b"").decode())

    def event(self, ns, track, event, text):
        kind = one(event, 9)
        if track not in self.tracks:
            raise ValueError("an event on no track")
        stack = self.open.setdefault(track, [])
        if kind == 2:
            self.slices[stack.pop()][2] = ns
            return
        name = one(event, 23).decode() if 23 in event else text.get((2, one(event, 10, 0)))
        category = one(event, 22).decode() if 22 in event else text.get((1, one(event, 3, 0)))
        args = dict(self.annotation(fields(a), text) for a in event.get(4, []))
        if kind == 1:
            stack.append(len(self.slices))
            colour = one(event, 53).decode() if 53 in event else text[43, one(event, 54)]
            self.slices.append([track, ns, None, len(stack), name, category, colour, args])
            for number, end in ((47, 0), (48, 1)):
                for flow in event.get(number, []):
                    ends = self.flows.setdefault(int.from_bytes(flow, "little"), [None, None])
                    if ends[end] is not None:
                        raise ValueError("a flow has that end already")
                    ends[end] = len(self.slices) - 1
        elif kind == 3:
            self.marks.append((track, ns, name, category, args))
        elif kind == 4:
            self.values.append((track, ns, real(one(event, 44))))
        else:
            raise ValueError(f"event of type {kind}")

    @staticmethod
    def annotation(note, text):
        key = one(note, 10).decode() if 10 in note else text[3, one(note, 1)]
        if 2 in note:
            return key, one(note, 2) == 1
        if 3 in note:
            return key, one(note, 3)
        if 5 in note:
            return key, real(one(note, 5))
        return key, one(note, 6).decode() if 6 in note else text[29, one(note, 17)]

    def path(self, track):
        """Names from the top down."""
        names = []
        while track:
            names.insert(0, plain(self.tracks[track][2]))
            track = self.tracks[track][0]
        return tuple(names)


def plain(name):
    """The name of a rank without its place in the list and without the padding of its number."""
    return re.sub(r"rank +", "rank ", re.sub(r"^no\. +\d+ · ", "", name))


def load(path):
    """Of a file, plain or gzip: its bytes."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def chrome(path):
    """The document of a Chrome trace, times as whole nanoseconds."""
    trace = json.loads(load(path), parse_float=str)
    for event in trace["traceEvents"]:
        for key in ("ts", "dur"):
            if key in event:  # lengths have four decimals, and are some tenths short
                whole, part = event[key].split(".")
                event[key] = int(whole) * 1000 + int(part[:3]) + (key == "dur")
    return trace
