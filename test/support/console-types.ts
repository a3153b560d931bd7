import { readdirSync, readFileSync } from 'node:fs'
import { ROOT } from './root.ts'

export const CONSOLE_TYPES = 'plugins/console/app/lib/schemas.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

type Schemas = Readonly<Record<string, Schema>>

const COLUMNS = 108

/** The TypeScript types of the schemas that files of the console import, and of those that these refer to. */
export function writeConsoleTypes(document: { components: { schemas: Schemas } }): string {
  const { schemas } = document.components
  const names = new Set(findImports())
  const types: string[] = []
  for (const name of names) {
    const schema = schemas[name]
    if (schema === undefined) throw new Error(`/openapi.json has no schema ${name}`)
    types.push(writeType(name, schema))
    for (const [, found = ''] of JSON.stringify(schema).matchAll(/#\/components\/schemas\/(\w+)/g))
      names.add(found)
  }
  const note = '/** Generated from the schemas of `/openapi.json` by `npm run generate`. */\n'
  return `${note}${types.sort().join('\n')}\n`
}

/** In one line if it fits. */
function writeType(name: string, schema: Schema): string {
  const fields = writeFields(schema)
  const line = `export interface ${name} { ${fields.trim()} }`
  return fields.includes('\n') || line.length > COLUMNS ? `export interface ${name} {\n${fields}\n}` : line
}

function findImports(): readonly string[] {
  const folder = new URL('plugins/console/app/', ROOT)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const texts = files
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
  return texts.flatMap((text) => {
    const [, imported = ''] = /import type \{([^}]*)\} from '[./\w]*\/schemas\.ts'/.exec(text) ?? []
    return imported
      .split(',')
      .map((name) => name.trim().split(' as ')[0] ?? '')
      .filter(Boolean)
  })
}

/** Several fields in a line. */
function writeFields({ properties = {}, required = [] }: Schema): string {
  const lines = ['']
  for (const [name, schema] of Object.entries(properties)) {
    const field = `${name}${required.includes(name) ? '' : '?'}: ${toType(schema)}`
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = wrap(`  ${field}`)
    else if (line.length + field.length < COLUMNS) lines[lines.length - 1] = `${line}; ${field}`
    else lines.push(wrap(`  ${field}`))
  }
  return lines.join('\n')
}

function toType(schema: Schema): string {
  const { $ref, type, anyOf, items, properties } = schema
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1)
  if (schema.enum !== undefined) return schema.enum.map(toLiteral).join(' | ')
  if (anyOf !== undefined) return anyOf.map(toType).join(' | ')
  if (Array.isArray(type)) return type.map((one) => toType({ ...schema, type: one })).join(' | ')
  if (type === 'array') return items === undefined ? 'unknown[]' : toArray(toType(items))
  if (type === 'object')
    return properties === undefined
      ? 'Record<string, unknown>'
      : `{ ${writeFields(schema).trim().replace(/\n */g, '; ')} }`
  if (type === 'integer') return 'number'
  return typeof type === 'string' ? type : 'unknown'
}

const toArray = (item: string) => (/[|{]/.test(item) ? `(${item})[]` : `${item}[]`)

const toLiteral = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value))

/** Breaks a long union or object into lines. */
function wrap(line: string): string {
  return line.split(/(?= \| )|(?<=;) /).reduce((text, part) => {
    const isLong = text.length - text.lastIndexOf('\n') + part.length > COLUMNS
    return isLong ? `${text}\n    ${part.trimStart()}` : `${text}${part.startsWith(' ') ? '' : ' '}${part}`
  })
}
