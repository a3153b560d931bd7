import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import type { Command } from '../../config/cli/command.ts'
import { ROOT } from './root.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
}

type Defaults = Readonly<Record<string, unknown>> | undefined

/** Writes the table of docs/settings.md: each setting that has a description, with its default. */
export function writeSettingsTable(schema: Schema): string {
  const defaults = load(readFileSync(new URL('config/default.yaml', ROOT), 'utf8')) as Defaults
  return toTable(['setting', 'default', ''], listSettings(schema, defaults, ''))
}

function listSettings({ properties = {} }: Schema, defaults: Defaults, path: string): readonly string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const value = defaults?.[name]
    const row = [`\`${path}${name}\``, showDefault(value), describe(schema)]
    const parts = listSettings(schema, toObject(value), `${path}${name}.`)
    return schema.description === undefined ? parts : [row, ...parts]
  })
}

function describe({ description = '', enum: values }: Schema): string {
  return values === undefined ? description : `${description} One of ${values.join(', ')}.`
}

const toObject = (value: unknown): Defaults =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined

/** Maps and lists are in config/default.yaml. */
function showDefault(value: unknown): string {
  return value === undefined || typeof value === 'object' ? '' : `\`${value}\``
}

/** Writes the table of docs/commands.md: each command with its options. */
export function writeCommandTable(commands: readonly Command[]): string {
  const rows = commands.map(({ name, operands = [], summary, details, options = {} }) => {
    const described = Object.entries(options).map(([option, { value = '', summary: what, isRequired }]) => {
      const text = isRequired ? `${what} Required.` : what
      return `\`--${option}${value && ` ${value}`}\`: ${text}`
    })
    const text = details === undefined ? summary : `${summary} ${details}`
    return [`\`${[name, ...operands].join(' ')}\``, text, described.join('<br>')]
  })
  return toTable(['command', '', 'options'], rows)
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`)
    .join('')
}
