import { parentPort } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import RE2 from 're2'
import { type Automaton, buildAutomaton, bytesOf, searchTexts } from './pattern-set.ts'
import {
  type RegexAnswer,
  type RegexJob,
  type RegexResult,
  type RegexWork,
  UNKNOWN_SET,
} from './regex-worker-client.ts'

/** The thread for work on RE2 that could take long; it keeps what it compiled last. */

const automata = new LRUCache<number, Automaton>({ max: 50 })
const regexes = new LRUCache<string, RE2>({ max: 1000 })

parentPort?.on('message', ({ job, work }: RegexJob) => {
  parentPort?.postMessage({ job, result: carryOut(work) } satisfies RegexAnswer)
})

function carryOut(work: RegexWork): RegexResult {
  switch (work.type) {
    case 'search':
      return search(work.set, work.sources, work.texts)
    case 'test':
      return run(work.source, (regex) => regex.test(work.text))
    case 'replace':
      return run(work.source, (regex) => work.text.replace(regex, work.template))
    default:
      return work satisfies never
  }
}

function search(set: number, sources: readonly string[] | undefined, texts: readonly string[]): RegexResult {
  const known = automata.get(set)
  if (known === undefined && sources === undefined) return UNKNOWN_SET
  const automaton = known ?? buildAutomaton(sources ?? [])
  if (automaton === undefined) return undefined
  automata.set(set, automaton)
  return searchTexts(automaton, bytesOf(texts))
}

/** Undefined when RE2 refuses the pattern, or the result is too long for a string. */
function run(source: string, work: (regex: RE2) => RegexResult): RegexResult {
  try {
    const regex = regexes.get(source) ?? new RE2(source, 'gu')
    regexes.set(source, regex)
    regex.lastIndex = 0
    return work(regex)
  } catch {
    return undefined
  }
}
