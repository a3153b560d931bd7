import type { Node, SetItem } from './ast.ts'

/** Longer ones are cut: what is left finds a text as well. */
const MAX_LITERAL_LENGTH = 24

/** A shorter one occurs in nearly every text, and the index of a text cannot tell. */
const MIN_LITERAL_LENGTH = 5

const ASCII = /^\p{ASCII}*$/u

/** The only characters outside of ASCII whose case variants are in ASCII. */
const FOLDED: ReadonlyMap<number, number> = new Map([
  [0x212a, 0x6b],
  [0x17f, 0x73],
])

/**
 * Returns a text that every match of the pattern contains, in lower case ASCII; undefined if none is long
 * enough. Only what is certain counts: parts that every match passes one right after the other.
 */
export function findRequiredLiteral(root: Node): string | undefined {
  const runs: string[] = ['']
  collectRuns(root, runs)
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '')
  return cutLiteral(longest)
}

/** Returns what every text with the literal, in any case, contains, as `findRequiredLiteral` does. */
export function toRequiredLiteral(literal: string): string | undefined {
  return ASCII.test(literal) ? cutLiteral(literal.toLowerCase()) : undefined
}

/** Whether a text certainly lacks what `findRequiredLiteral` has returned. */
export function lacksLiteral(text: string, literal: string | undefined): boolean {
  return literal !== undefined && ASCII.test(text) && !text.toLowerCase().includes(literal)
}

/** Whether what `toRequiredLiteral` has returned is all of the literal, and on one line. */
export function isWholeLiteral(literal: string, required: string | undefined): boolean {
  return literal.toLowerCase() === required && !literal.includes('\n')
}

function cutLiteral(literal: string): string | undefined {
  return literal.length < MIN_LITERAL_LENGTH ? undefined : literal.slice(-MAX_LITERAL_LENGTH)
}

/** Appends to the last run what the node surely adds to it, or begins a new run. */
function collectRuns(node: Node, runs: string[]): void {
  switch (node.type) {
    case 'sequence':
      for (const part of node.parts) collectRuns(part, runs)
      return
    case 'capture':
    case 'atomic':
      collectRuns(node.body, runs)
      return
    case 'assertion':
      return
    case 'character':
      appendLetter(foldToAscii(node.code), runs)
      return
    case 'set':
      appendLetter(node.negated ? undefined : singleLetterOf(node.items), runs)
      return
    case 'quantifier':
      if (node.min !== 1 || node.max !== 1) runs.push('')
      if (node.min > 0) collectRuns(node.body, runs)
      if (node.min !== 1 || node.max !== 1) runs.push('')
      return
    default:
      runs.push('')
  }
}

function appendLetter(code: number | undefined, runs: string[]): void {
  if (code === undefined) runs.push('')
  else runs.push((runs.pop() ?? '') + String.fromCharCode(code))
}

/** The letter of a set that holds nothing but its case variants. */
function singleLetterOf(items: readonly SetItem[]): number | undefined {
  let letter: number | undefined
  for (const item of items) {
    if (!('from' in item) || item.to - item.from > 2) return undefined
    for (let code = item.from; code <= item.to; code++) {
      const folded = foldToAscii(code)
      if (folded === undefined || (letter !== undefined && folded !== letter)) return undefined
      letter = folded
    }
  }
  return letter
}

function foldToAscii(code: number): number | undefined {
  if (code >= 0x41 && code <= 0x5a) return code + 0x20
  return code < 0x80 ? code : FOLDED.get(code)
}
