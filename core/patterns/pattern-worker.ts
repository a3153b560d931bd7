import { LRUCache } from 'lru-cache'
import { analyzePattern, createMatcher } from '../pcre/compile.ts'
import type { PatternMatcher, PatternSource } from '../pcre/pattern.ts'
import { serveWorkerJobs } from '../threads/worker-pool.ts'
import { type Automaton, buildAutomaton, isJoinable, searchTexts } from './pattern-chunks.ts'
import { type PatternJob, type PatternResult, unpackTexts } from './pattern-run.ts'
import { runWithCpuLimit } from './run-with-timeout.ts'
import { encodeTexts, joinTexts } from './searched-texts.ts'

/** The thread of the pattern pool. It caches what it has compiled. */

const automata = new LRUCache<number, { readonly automaton: Automaton; readonly canJoin: boolean }>({
  max: 50,
})
const matchers = new LRUCache<string, PatternMatcher>({ max: 1000 })

serveWorkerJobs((job: PatternJob, cpuLimitMs): PatternResult => {
  switch (job.type) {
    case 'analyze':
      return job.patterns.map(analyzePattern)
    case 'test':
      return runWithCpuLimit(cpuLimitMs, () => {
        const matcher = matcherOf(job.pattern)
        return unpackTexts(job.texts).some((text) => matcher.test(text))
      })
    case 'replace':
      return runWithCpuLimit(cpuLimitMs, () => matcherOf(job.pattern).replace(job.text, job.replacement))
    case 'scan':
      return runWithCpuLimit(cpuLimitMs, () => matcherOf(job.pattern).scan(job.scanned))
    case 'search':
      return search(job.set, job.sources, unpackTexts(job.texts))
    default:
      return job satisfies never
  }
})

function matcherOf(pattern: PatternSource): PatternMatcher {
  const key = `${pattern.kind} ${pattern.text}`
  const cached = matchers.get(key)
  if (cached !== undefined) return cached
  const matcher = createMatcher(pattern)
  matchers.set(key, matcher)
  return matcher
}

function search(
  set: number,
  sources: readonly string[] | undefined,
  texts: readonly string[],
): readonly number[] | 'unknown set' | undefined {
  const known = automata.get(set)
  if (known === undefined && sources === undefined) return 'unknown set'
  const automaton = known?.automaton ?? buildAutomaton(sources ?? [])
  if (automaton === undefined) return undefined
  const canJoin = known?.canJoin ?? isJoinable(sources ?? [])
  automata.set(set, { automaton, canJoin })
  const joined = canJoin ? joinTexts(texts) : texts
  if (joined !== texts && searchTexts(automaton, encodeTexts(joined))?.length === 0) return []
  return searchTexts(automaton, encodeTexts(texts))
}
