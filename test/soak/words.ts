import type { Random } from '../support/random.ts'

const WORDS =
  `the night train leaves from track nine at ten past two, "all aboard" said the guard; Grüße aus Köln, 世界 rolls by
  signals \\ levers and 100% steam — a 🚂 under {braces} [brackets] <angles> & ampersands, one's own timetable`.split(
    /\s+/,
  )

/** Returns `count` words, including characters that are difficult for JSON and UTF-8. */
export function words(chance: Random, count: number): string {
  const said: string[] = []
  for (let n = 0; n < count; n++) said.push(chance.pick(WORDS))
  return said.join(chance.chance(0.05) ? '\n' : ' ')
}

/** Returns a text of about the given number of bytes. */
export function longText(chance: Random, bytes: number): string {
  const block = words(chance, 200)
  return Array(Math.ceil(bytes / Buffer.byteLength(block)))
    .fill(block)
    .join(' ')
}

/** Marks requests, so that their responses can be told apart. */
export function createNonces(seed: number): () => string {
  let last = 0
  return () => `n${seed.toString(36)}z${(last++).toString(36)}`
}
