import RE2 from 're2'
import { lazy } from '../util/lazy.ts'

/** Finds where a match may begin. */
export interface CandidateFinder {
  /** Whether there may be a match anywhere in the text. */
  test(text: string): boolean
  /** The first index from `from` at which a match may begin; -1 if there is none. */
  find(text: string, from: number): number
}

/**
 * Creates a finder from an over-approximation of a pattern in RE2's syntax: every match of the pattern begins
 * where a match of the over-approximation begins.
 */
export function createCandidateFinder(source: string): CandidateFinder {
  const compiled = lazy(() => new RE2(source, 'gu'))
  return {
    test(text) {
      const regex = compiled()
      regex.lastIndex = 0
      return regex.test(text)
    },
    find(text, from) {
      const regex = compiled()
      regex.lastIndex = from
      return regex.exec(text)?.index ?? -1
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

  /** Records a candidate. Returns true once candidates have been close to each other for a while. */
  isDense(candidate: number): boolean {
    this.denseCount = candidate - this.last < DENSE_GAP ? this.denseCount + 1 : 0
    this.last = candidate
    return this.denseCount > MAX_DENSE_CANDIDATES
  }
}
