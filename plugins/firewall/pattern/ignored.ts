import { PatternFault } from './fault.ts'
import type { Reader } from './reader.ts'

/** Steps over comments, callouts, the quoting marks `\Q` and `\E`, and in extended mode over white space. */
export function skipIgnored(reader: Reader): void {
  const { scanner } = reader
  for (;;) {
    if (scanner.take('\\E')) reader.quoting = false
    else if (reader.quoting) return
    else if (scanner.take('\\Q')) reader.quoting = true
    else if (reader.options.extended && scanner.match(WHITE_SPACE) !== undefined) continue
    else if (!scanner.sees('(?')) return
    else if (scanner.take('(?#')) {
      if (scanner.match(/[^)]*\)/y) === undefined) throw new PatternFault('a comment misses its )')
    } else if (scanner.match(/\(\?C(?:1?\d?\d|2[0-4]\d|25[0-5])?\)/y) === undefined) return
  }
}

const WHITE_SPACE = /[\t-\r \u0085\u200e\u200f\u2028\u2029]+|#[^\n]*\n?/y
