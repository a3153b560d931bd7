import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { loadAll, YAMLException } from 'js-yaml'
import { shippedFile } from '../../core/util/package-folder.ts'

/**
 * Reads a YAML file of this package, by its path from the root. `npm run build` converts these files to JSON,
 * under a name from their content: parsing the YAML took a tenth of a start.
 */
export function readShippedYaml(name: string, issues: string[]): unknown {
  const file = shippedFile(name)
  const converted = convertedFile(file)
  return existsSync(converted) ? JSON.parse(readFileSync(converted, 'utf8')) : readYaml(file, issues)
}

/** The path of the JSON for the current content of a YAML file. */
export function convertedFile(file: string): string {
  return shippedFile(`dist/settings/${hash('sha256', readFileSync(file)).slice(0, 32)}.json`)
}

/**
 * Reads the value in a YAML file. Adds a syntax error to `issues` by line and column, without the text at
 * that place, which may be a secret. An empty or invalid file counts as an empty map.
 */
export function readYaml(file: string, issues: string[]): unknown {
  try {
    const [value, ...others] = loadAll(readFileSync(file, 'utf8'))
    if (others.length === 0) return value ?? {}
    issues.push(`${file} must contain one YAML document, not ${others.length + 1}`)
  } catch (error) {
    issues.push(`${file} ${describeError(error)}`)
  }
  return {}
}

function describeError(error: unknown): string {
  if (error instanceof YAMLException) {
    const { line, column } = error.mark ?? { line: 0, column: 0 }
    return `is not valid YAML at line ${line + 1}, column ${column + 1}: ${withoutQuotation(error.reason)}`
  }
  // An error of the file system names the file only.
  return `cannot be read: ${error instanceof Error && 'syscall' in error ? error.message : 'unknown error'}`
}

/** Some reasons end with the text at fault: `undeclared tag handle "!secret!"`. */
function withoutQuotation(reason: string): string {
  return reason.replace(/(?::? [!"<]|: ).*$/s, '')
}
