import type { Level } from '../level.ts'
import { heapOf } from '../measure-heap.ts'
import type { Check } from './check.ts'

const MOST = 1.1

/**
 * What a thread adds that was not needed in the warm-up, which is short on a slow machine: heap with its
 * modules, and open files of its loop and of its database.
 */
const THREAD = { mb: 8, files: 5 }

/** Threads that may start under load: of patterns, tokens, histories and the ledger. */
const MOST_STARTED = 6

/** Heap and open files have not grown by more than a tenth, apart from threads that started under load. */
export function checkLevels(start: Level, end: Level): readonly Check[] {
  const started = Math.min(MOST_STARTED, Math.max(0, end.threads - start.threads))
  const [mb, files] = [started * THREAD.mb, started * THREAD.files]
  return [
    compare('heap', heapOf(start), heapOf(end), mb, (value) => `${value.toFixed(1)} MB`),
    compare('open files', start.fds, end.fds, files, String),
  ]
}

function compare(
  name: string,
  start: number,
  end: number,
  ofThreads: number,
  show: (value: number) => string,
): Check {
  const allowance = ofThreads === 0 ? '' : `, of which threads that started may have ${show(ofThreads)}`
  const found = `${show(start)} at the start, ${show(end)} at the end${allowance}`
  const isBack = end <= start * MOST + ofThreads
  return {
    name: `${name} back to the start level within 10 %`,
    found,
    faults: isBack ? [] : [`the ${name} grew by ${((end / start - 1) * 100).toFixed(1)} %`],
  }
}
