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
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
}

type Schemas = Readonly<Record<string, Schema>>

const COLUMNS = 108

/**
 * The TypeScript types of the schemas that files of the console import, and of those that these refer to, and
 * the fields of the schemas that they make forms of.
 */
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
  return `${note}${types.sort().join('\n')}\n${writeForms(schemas)}`
}

function writeForms(schemas: Schemas): string {
  const names = new Set(
    readConsole().flatMap((text) => [...text.matchAll(/fieldsOf\('(\w+)'/g)].map(([, name = '']) => name)),
  )
  const forms = [...names].sort().map((name) => {
    const { required = [] } = schemas[name.replace('Change', 'Input')] ?? {}
    const fields = Object.entries(schemas[name]?.properties ?? {}).flatMap(([field, schema]) => {
      const input = toInput(schema, required.includes(field))
      return input === undefined ? [] : `${field}: ${input}`
    })
    const line = `  ${name}: { ${fields.join(', ')} },\n`
    const lines = pack(fields, ', ').map((line) => `  ${line.replaceAll('\n', '\n  ')},\n`)
    return line.length <= COLUMNS ? line : `  ${name}: {\n${lines.join('')}  },\n`
  })
  return `/** The fields of forms, but for lists and objects. */\nexport const FORMS = {\n${forms.join('')}} as const\n`
}

/** A field of a form; undefined for one that has no input of its own. */
function toInput({ type, enum: options, maxLength, minimum: min, maximum: max }: Schema, required: boolean) {
  const types = [type].flat()
  const isNumber = types.includes('integer') || types.includes('number')
  if (!isNumber && !types.includes('string') && !types.includes('boolean')) return undefined
  const isText = isNumber || options === undefined
  const input = {
    ...(isNumber && { type: 'number', min, max }),
    ...(types.includes('boolean') ? { type: 'check' } : isText && required && { required }),
    ...{ options, maxLength },
    ...(types.includes('null') && { empty: null }),
  }
  const entries = Object.entries(input).filter(([, value]) => value !== undefined)
  const values = entries.map(
    ([name, value]) => `${name}: ${JSON.stringify(value).replaceAll('"', "'").replaceAll(',', ', ')}`,
  )
  return values.length === 0 ? '{}' : `{ ${values.join(', ')} }`
}

/** In one line if it fits. */
function writeType(name: string, schema: Schema): string {
  if (schema.anyOf !== undefined) return `export type ${name} = ${toType(schema)}`
  const fields = writeFields(schema)
  const line = `export interface ${name} { ${fields.trim()} }`
  return fields.includes('\n') || line.length > COLUMNS ? `export interface ${name} {\n${fields}\n}` : line
}

/** The texts of all files. */
function readConsole(): readonly string[] {
  const folder = new URL('plugins/console/app/', ROOT)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
}

function findImports(): readonly string[] {
  return readConsole().flatMap((text) => {
    const [, imported = ''] = /import type \{([^}]*)\} from '[./\w]*\/schemas\.ts'/.exec(text) ?? []
    return imported
      .split(',')
      .map((name) => name.trim().split(' as ')[0] ?? '')
      .filter(Boolean)
  })
}

/** Several fields in a line. */
function writeFields({ properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${name}${required.includes(name) ? '' : '?'}: ${toType(schema)}`,
  )
  return pack(fields, '; ').join('\n')
}

/** The lines that the fields fill. */
function pack(fields: readonly string[], separator: string): readonly string[] {
  const lines = ['']
  for (const field of fields) {
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = wrap(`  ${field}`)
    else if (line.length + field.length < COLUMNS) lines[lines.length - 1] = `${line}${separator}${field}`
    else lines.push(wrap(`  ${field}`))
  }
  return lines
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
