/** A source of chance that gives the same for the same seed (mulberry32). */
export interface Random {
  /** From 0 up to and without `below`. */
  integer(below: number): number
  pick<Item>(items: readonly Item[]): Item
  chance(share: number): boolean
}

export function createRandom(seed: number): Random {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (below: number) => Math.floor(next() * below)
  return {
    integer,
    pick: (items) => items[integer(items.length)] as never,
    chance: (share) => next() < share,
  }
}
