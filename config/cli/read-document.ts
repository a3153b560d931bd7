import { readFileSync } from 'node:fs'
import { EVENT_ID, load, parseEvents } from 'js-yaml'
import { GatewayError, type Static, type TSchema } from '../../core/contract/index.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { readYaml } from '../settings/read-yaml.ts'
import { SettingsError } from '../settings/settings-error.ts'

/** A YAML or JSON file, and the lines of its parts. */
export interface FileDocument<Value> {
  readonly file: string
  readonly value: Value
  /** Line of a part, such as `policies[0].name`, or of what is nearest above it. */
  lineOf(path: string): number
}

/** Reads a file with a value of a schema. Throws an error that names the file, the line and the issue. */
export function readDocument<Schema extends TSchema>(
  file: string,
  schema: Schema,
): FileDocument<Static<Schema>> {
  const issues: string[] = []
  const value = readYaml(file, issues)
  // The issue names the file.
  if (issues.length > 0) throw new Error(`${issues.join('; ')}.`)
  const lines = listLines(readFileSync(file, 'utf8'))
  const document = {
    file,
    lineOf(path: string) {
      for (let rest = path; rest !== ''; rest = rest.replace(/(?:^|[.[])[^.[]*$/, '')) {
        const line = lines.get(rest)
        if (line !== undefined) return line
      }
      return 1
    },
  }
  try {
    return { ...document, value: createLazyParser(schema)(value) }
  } catch (error) {
    throw describeFileIssues(error, document)
  }
}

/** Returns an error with the file and the line of every issue; any other error as it is. */
export function describeFileIssues(
  error: unknown,
  { file, lineOf }: Pick<FileDocument<unknown>, 'file' | 'lineOf'>,
): unknown {
  if (!GatewayError.isInstance(error)) return error
  const { errors, param } = error.details
  if (errors === undefined && param === undefined) return error
  const issues = Object.entries(errors ?? { [param ?? '']: [error.message] })
  return new SettingsError(
    issues.flatMap(([path, messages]) => messages.map((text) => `${file}:${lineOf(path)}: ${path}: ${text}`)),
    `${file} has`,
  )
}

interface Level {
  readonly path: string
  readonly isList: boolean
  /** The key whose value comes next. */
  key: string | undefined
  index: number
}

/** The line of each key and list item, by path. */
function listLines(source: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  const levels: Level[] = []
  const starts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)]
  const lineAt = (offset: number) => starts.findLastIndex((start) => start <= offset) + 1

  function pathOfNext(level: Level | undefined): string {
    if (level === undefined) return ''
    if (level.isList) return `${level.path}[${level.index}]`
    return level.path === '' ? (level.key ?? '') : `${level.path}.${level.key ?? ''}`
  }
  for (const event of parseEvents(source, {})) {
    if (event.type === EVENT_ID.DOCUMENT) continue
    if (event.type === EVENT_ID.POP) {
      levels.pop()
      continue
    }
    const level = levels.at(-1)
    const isScalar = event.type === EVENT_ID.SCALAR
    const start = isScalar ? event.valueStart : 'start' in event ? event.start : undefined
    if (level && !level.isList && level.key === undefined) {
      level.key = isScalar ? String(load(source.slice(event.valueStart, event.valueEnd))) : ''
      if (start !== undefined) lines.set(pathOfNext(level), lineAt(start))
      continue
    }
    const path = pathOfNext(level)
    if (start !== undefined && !lines.has(path)) lines.set(path, lineAt(start))
    if (level) level.key = undefined
    if (level) level.index += 1
    if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE)
      levels.push({ path, isList: event.type === EVENT_ID.SEQUENCE, key: undefined, index: 0 })
  }
  return lines
}
