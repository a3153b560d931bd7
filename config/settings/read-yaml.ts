import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'

/** The value in a YAML file. What is wrong with it goes to `faults`, by its place and never by its text: that may be a key. */
export function readYaml(file: string, faults: string[]): unknown {
  try {
    const document = parseDocument(readFileSync(file, 'utf8'))
    const [error] = document.errors
    if (error === undefined) return document.toJS() ?? {}
    const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
    const reason = error.code.toLowerCase().replaceAll('_', ' ')
    faults.push(`${file} is not valid YAML at line ${line}, column ${col}: ${reason}`)
  } catch (error) {
    faults.push(`${file} cannot be read: ${describe(error)}`)
  }
  return {}
}

/** The system's words name the file only; the parser's could quote what is in it. */
function describe(error: unknown): string {
  if (error instanceof Error && 'syscall' in error) return error.message
  return 'it has an alias without an anchor'
}
