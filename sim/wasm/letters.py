"""Bytes as a page carries them: each 13 bits as two of 91 letters that mean nothing to HTML, 23 % more than
the bytes, where base64 takes 33 %. host.js reads them again (unpackCore)."""

LETTERS = bytes(letter for letter in range(33, 127) if letter not in b"&<\\")


def in_letters(data):
    """The lowest bits first. What is left at the end takes one letter up to 6 bits, so that fewer than 8 bits
    are added and no byte."""
    out, held, n = bytearray(), 0, 0
    for byte in data:
        held |= byte << n
        n += 8
        if n >= 13:
            out += bytes((LETTERS[(held & 8191) % 91], LETTERS[(held & 8191) // 91]))
            held >>= 13
            n -= 13
    if n > 0:
        out.append(LETTERS[held % 91])
    if n > 6:
        out.append(LETTERS[held // 91])
    return bytes(out)
