/** What an automatic choice favours (interface: "Routing modes that are also routing targets"). */
export const MODES = ['balance', 'cost', 'quality', 'latency'] as const

export type Mode = (typeof MODES)[number]

const ALIASES: Readonly<Record<string, Mode>> = {
  balance: 'balance',
  balanced: 'balance',
  cost: 'cost',
  quality: 'quality',
  latency: 'latency',
  fast: 'latency',
  speed: 'latency',
}

/** Every accepted spelling, for error messages and schemas. */
export const MODE_SPELLINGS = Object.keys(ALIASES)

/** The canonical mode for a spelling in any case, or undefined. */
export function parseMode(spelling: string): Mode | undefined {
  const key = spelling.toLowerCase()
  return Object.hasOwn(ALIASES, key) ? ALIASES[key] : undefined
}
