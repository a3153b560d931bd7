import { parentPort } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import RE2 from 're2'
import { type Automaton, buildAutomaton, encodeTexts, searchTexts } from './pattern-set.ts'
import {
  type RegexJob,
  type RegexJobResult,
  type RegexResult,
  type RegexWork,
  UNKNOWN_SET,
} from './regex-worker-client.ts'

/** The worker thread for RE2 work that may take long. It caches compiled patterns. */

const automata = new LRUCache<number, Automaton>({ max: 50 })
const regexes = new LRUCache<string, RE2>({ max: 1000 })

parentPort?.on('message', ({ id, work }: RegexJob) => {
  parentPort?.postMessage({ id, result: execute(work) } satisfies RegexJobResult)
})

function execute(work: RegexWork): RegexResult {
  switch (work.type) {
    case 'search':
      return search(work.set, work.sources, work.texts)
    case 'test':
      return runRegex(work.source, (regex) => regex.test(work.text))
    case 'replace':
      return runRegex(work.source, (regex) => work.text.replace(regex, work.template))
    default:
      return work satisfies never
  }
}

function search(set: number, sources: readonly string[] | undefined, texts: readonly string[]): RegexResult {
  const cached = automata.get(set)
  if (cached === undefined && sources === undefined) return UNKNOWN_SET
  const automaton = cached ?? buildAutomaton(sources ?? [])
  if (automaton === undefined) return undefined
  automata.set(set, automaton)
  return searchTexts(automaton, encodeTexts(texts))
}

/** Returns undefined if RE2 rejects the pattern, or the result is too long for a string. */
function runRegex(source: string, run: (regex: RE2) => RegexResult): RegexResult {
  try {
    const regex = regexes.get(source) ?? new RE2(source, 'gu')
    regexes.set(source, regex)
    regex.lastIndex = 0
    return run(regex)
  } catch {
    return undefined
  }
}
