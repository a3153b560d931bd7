import type { Level } from '../level.ts'
import { heapOf } from '../measure-heap.ts'
import type { Check } from './check.ts'

const MOST = 1.1

/** Heap and open files have not grown by more than a tenth. */
export function checkLevels(start: Level, end: Level): readonly Check[] {
  return [
    compare('heap', heapOf(start), heapOf(end), (mb) => `${mb.toFixed(1)} MB`),
    compare('open files', start.fds, end.fds, String),
  ]
}

function compare(name: string, start: number, end: number, show: (value: number) => string): Check {
  const found = `${show(start)} at the start, ${show(end)} at the end`
  const isBack = end <= start * MOST
  return {
    name: `${name} back to the start level within 10 %`,
    found,
    faults: isBack ? [] : [`the ${name} grew by ${((end / start - 1) * 100).toFixed(1)} %`],
  }
}
