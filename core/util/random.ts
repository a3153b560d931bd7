/** A source of chance that gives the same for the same seed (mulberry32). */
export interface Random {
  /** From 0 up to and without `below`. */
  integer(below: number): number
  pick<Item>(items: readonly Item[]): Item
  /** Picks an item as often as its share in that of all. */
  weighted<Item extends { readonly share: number }>(items: readonly Item[]): Item
  chance(share: number): boolean
  /** Around 1, rarely below a third or above 3: how durations and lengths vary. */
  spread(): number
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
    weighted(items) {
      let left = next() * items.reduce((sum, { share }) => sum + share, 0)
      const picked = items.find(({ share }) => {
        left -= share
        return left < 0
      })
      return (picked ?? items.at(-1)) as never
    },
    chance: (share) => next() < share,
    // The sum of three is about a normal distribution; its exponential, a log-normal one.
    spread: () => Math.exp((next() + next() + next() - 1.5) * 0.9),
  }
}
