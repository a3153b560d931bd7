import { runOnThread, UNKNOWN_SET } from './regex-thread.ts'

/** Searches on the regex thread; the places of the patterns that are found, or undefined when the automaton gave up. */
export async function searchOnThread(
  sources: readonly string[],
  texts: readonly string[],
): Promise<readonly number[] | undefined> {
  const set = numberOf(sources)
  const first = await runOnThread({ type: 'search', set, texts })
  const result = first === UNKNOWN_SET ? await runOnThread({ type: 'search', set, sources, texts }) : first
  return typeof result === 'object' ? result : undefined
}

const numbers = new WeakMap<readonly string[], number>()
let last = 0

/** The same number for the same list: the thread keeps automata by it. */
function numberOf(sources: readonly string[]): number {
  const number = numbers.get(sources) ?? ++last
  numbers.set(sources, number)
  return number
}
