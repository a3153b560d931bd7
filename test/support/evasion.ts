import { readVectors } from './vectors.ts'

/** A published-style pattern that needs more than RE2 has, and a text that it matches. */
export interface EvadablePattern {
  readonly name: string
  readonly pattern: string
  readonly secret: string
}

export const EVADABLE_PATTERNS = readVectors<readonly EvadablePattern[]>('evadable-patterns')

const SENTENCES = [
  'The quick brown fox jumps over the lazy dog while 12 monkeys watch from afar. ',
  'On 2024-05-17 at 10:45 the build finished in 3.25 seconds with exit code 0. ',
  'Call (555) for help, or see https://example.org/a/b?c=1&d=2 for the docs. ',
  'Version 10.2.33 of the package lists 4,096 items; see table 7-3 on page 128. ',
  'Order 000-12-3456 was refunded; ticket 666-11-2222 is a placeholder. ',
]

/** Prose with numbers, times and near misses, of at least `length` characters. */
export function prose(length: number): string {
  const paragraph = SENTENCES.join('')
  return paragraph.repeat(Math.ceil(length / paragraph.length))
}
