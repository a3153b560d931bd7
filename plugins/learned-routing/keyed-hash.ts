import { createHmac } from 'node:crypto'

/** 64 bits. See docs/decisions/learned-routing.md, "Features are keyed hashes". */
export interface FeatureKey {
  readonly k0: number
  readonly k1: number
}

/** Derives the key of the features from a secret, which cannot be found from the key. */
export function createFeatureKey(secret: string | Uint8Array): FeatureKey {
  const derived = createHmac('sha256', secret).update('signalbox prompt features 1').digest()
  return { k0: derived.readInt32LE(0), k1: derived.readInt32LE(4) }
}

/**
 * HalfSipHash-1-3 of the first `length` UTF-16 code units: a hash with a key, for short inputs, in 32-bit
 * arithmetic. Returns a signed 32-bit number, which V8 keeps without an object on the heap.
 */
export function hashUnits(units: Uint16Array, length: number, { k0, k1 }: FeatureKey): number {
  let v0 = k0
  let v1 = k1
  let v2 = 0x6c796765 ^ k0
  let v3 = 0x74656462 ^ k1
  const last = (length >>> 1) + 1
  for (let block = 0, at = 0; block < last; block++, at += 2) {
    // The last block holds the length in bytes and the odd unit, if there is one.
    const low = at < length ? (units[at] as number) : 0
    const input = at + 1 < length ? low | ((units[at + 1] as number) << 16) : low | (length << 25)
    v3 ^= input
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= input
  }
  v2 ^= 0xff
  for (let round = 0; round < 3; round++) {
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
  }
  return v1 ^ v3
}

/** Mixes the hashes of two words in their order. These are keyed already. */
export function hashPair(first: number, second: number): number {
  let mixed = (Math.imul(first, 0x9e3779b1) + second) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
