import RE2 from 're2'
import { lazy } from '../util/lazy.ts'
import { toRe2Text } from './re2-text.ts'

/** Finds where a match may begin. */
export interface CandidateFinder {
  /** Whether there may be a match anywhere in the text. */
  test(text: string): boolean
  /** The first index from `from` at which a match may begin; -1 if there is none. */
  find(text: string, from: number): number
}

export const EVERY_POSITION: CandidateFinder = {
  test: () => true,
  find: (_, from) => from,
}

/**
 * Creates a finder from over-approximations of a pattern in RE2's syntax: every match of the pattern begins
 * where a match of `startSource` begins, and a text with a match matches `source`. See
 * docs/decisions/firewall.md, "An over-approximation in RE2 finds where backtracking starts".
 */
export function createCandidateFinder(source: string, startSource: string): CandidateFinder {
  const whole = lazy(() => new RE2(source, 'u'))
  const start = lazy(() => new RE2(startSource, 'gu'))
  return {
    test: (text) => whole().test(toRe2Text(text)),
    find(text, from) {
      const regex = start()
      regex.lastIndex = from
      return regex.exec(toRe2Text(text))?.index ?? -1
    },
  }
}

/** After this many candidates close to each other, the engine searches the rest of the text itself. */
const MAX_DENSE_CANDIDATES = 64
const DENSE_GAP = 200

/** Decides between trying single candidates and searching the rest of a text, which is cheaper for many. */
export class CandidateDensity {
  private denseCount = 0
  private last = 0

  /** True once candidates have been close to each other for a while. */
  get isDense(): boolean {
    return this.denseCount > MAX_DENSE_CANDIDATES
  }

  record(candidate: number): void {
    this.denseCount = candidate - this.last < DENSE_GAP ? this.denseCount + 1 : 0
    this.last = candidate
  }
}
