import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'

/**
 * Reads the value in a YAML file. Adds a syntax error to `issues` by line and column, without the text at
 * that place, which may be a secret. An empty or invalid file counts as an empty map.
 */
export function readYaml(file: string, issues: string[]): unknown {
  try {
    const document = parseDocument(readFileSync(file, 'utf8'))
    const [error] = document.errors
    if (error === undefined) return document.toJS() ?? {}
    const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
    const reason = error.code.toLowerCase().replaceAll('_', ' ')
    issues.push(`${file} is not valid YAML at line ${line}, column ${col}: ${reason}`)
  } catch (error) {
    issues.push(`${file} cannot be read: ${describeReadError(error)}`)
  }
  return {}
}

/** A system error names the file only. An error of the parser could quote its content. */
function describeReadError(error: unknown): string {
  if (error instanceof Error && 'syscall' in error) return error.message
  return 'an alias refers to an anchor that does not exist'
}
