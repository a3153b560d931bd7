import { LRUCache } from 'lru-cache'
import { serveWorkerJobs } from '../process/serve-worker-jobs.ts'
import { analyzePattern, createMatcher, type PatternMatcher } from './compile.ts'
import type { PatternJob, PatternResult, PatternSource } from './pattern-pool.ts'
import { type Automaton, buildAutomaton, encodeTexts, searchTexts } from './pattern-set.ts'
import { runWithCpuLimit } from './run-with-timeout.ts'

/** The thread of the pattern pool. It caches what it has compiled. */

const automata = new LRUCache<number, Automaton>({ max: 50 })
const matchers = new LRUCache<string, PatternMatcher>({ max: 1000 })

serveWorkerJobs((job: PatternJob, cpuLimitMs): PatternResult => {
  switch (job.type) {
    case 'analyze':
      return job.patterns.map(analyzePattern)
    case 'test':
      return runWithCpuLimit(cpuLimitMs, () => matcherOf(job.pattern).test(job.text))
    case 'replace':
      return runWithCpuLimit(cpuLimitMs, () => matcherOf(job.pattern).replace(job.text, job.replacement))
    case 'scan':
      return runWithCpuLimit(cpuLimitMs, () => matcherOf(job.pattern).scan(job.scanned))
    case 'search':
      return search(job.set, job.sources, job.texts)
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
  const cached = automata.get(set)
  if (cached === undefined && sources === undefined) return 'unknown set'
  const automaton = cached ?? buildAutomaton(sources ?? [])
  if (automaton === undefined) return undefined
  automata.set(set, automaton)
  return searchTexts(automaton, encodeTexts(texts))
}
