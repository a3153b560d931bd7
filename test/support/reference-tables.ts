import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import type { Command } from '../../config/cli/command.ts'
import { findErrorDefinition } from '../../core/contract/error-codes.ts'
import { listExemptions } from '../../core/inspection/request-inspection.ts'
import { startGateway } from './gateway.ts'
import { ROOT } from './root.ts'
import { withSettings } from './settings.ts'

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

/** Writes a table of docs/providers.md: the described fields of a row, without those of price lists. */
export function writeRowTable(schema: Schema): string {
  const rows = listSettings(schema, undefined, '').map(([name = '', , text = '']) => [name, text])
  return toTable(
    ['key', ''],
    rows.filter(([name = '']) => !/^`(?:timeouts|dimensions|price)\./.test(name)),
  )
}

interface Preset {
  readonly base_url: string
  readonly key_variable?: string
}

/** Writes the table of docs/guides/presets.md. */
export function writePresetTable(): string {
  const presets = load(readFileSync(new URL('config/provider-presets.yaml', ROOT), 'utf8')) as Record<
    string,
    Preset
  >
  const rows = Object.entries(presets).map(([name, { base_url, key_variable }]) => {
    return [`\`${name}\``, `\`${base_url}\``, key_variable ? `\`${key_variable}\`` : '']
  })
  return toTable(['preset', 'base URL', 'key'], rows)
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

/** Writes the table of docs/api.md, "Error codes": those of a gateway with all built-in plugins. */
export async function writeErrorTable(): Promise<string> {
  const guardrail = { use: 'guardrail-webhook', after: 'firewall', options: { url: 'http://127.0.0.1:1/' } }
  const settings = await withSettings(`plugins: { add: [${JSON.stringify(guardrail)}] }\n`)
  const gateway = await startGateway(settings)
  const { components } = (await gateway.call('GET', '/openapi.json')).body
  const described: string = components.schemas.ErrorCode.description
  const rows = [...described.matchAll(/^- `(\w+)` \((\d+)\): (.+)$/gm)].map(
    ([, code = '', status = '', text = '']) => {
      return [`\`${code}\``, status, `\`${findErrorDefinition(code)?.type}\``, text]
    },
  )
  await gateway.stop()
  const keyOf = ([code, status]: readonly string[]) => `${status} ${code}`
  rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  return toTable(['code', 'status', '`type`', 'when'], rows)
}

/** Writes the table of docs/firewall-exemptions.md: the positions of each rule. */
export function writeExemptions(): string {
  const positions = new Map<string, string[]>()
  for (const line of listExemptions()) {
    const [position = '', rule = ''] = line.split(': ', 2)
    positions.set(rule, [...(positions.get(rule) ?? []), `\`${position}\``])
  }
  return toTable(
    ['rule, or words', 'positions'],
    [...positions].map(([rule, of]) => [`\`${rule}\``, of.join(', ')]),
  )
}

/** The interfaces of docs/exchange.md, by part of the page and file of the contract. */
export const CONTRACT_TYPES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  Plugins: {
    'plugin.ts': ['Plugin', 'PluginParts', 'Host', 'EventDeclaration', 'PluginEvents'],
    'shared-state.ts': ['Counters', 'CounterValue', 'RecordStore'],
  },
  'The exchange': {
    'exchange.ts': [
      ...['Exchange', 'ReplyingExchange', 'RepliedExchange', 'Account', 'UserLimits', 'KeyRestrictions'],
      ...['ClientConnection', 'Route', 'RouterChoice', 'Attempt', 'Warning', 'RuleTraceEntry', 'Decoration'],
    ],
    'chat.ts': ['Usage', 'ReplyTransform'],
    'reply-text.ts': ['TextReplacement'],
    'http.ts': ['EndedRequest'],
  },
  'Conditions and actions': { 'plugin.ts': ['Operator', 'RoutingInput', 'Action', 'RoutingDraft'] },
  Endpoints: {
    'http.ts': ['EndpointDescription', 'EndpointCall', 'EndpointResponse', 'TextBody'],
    'error-codes.ts': ['ErrorDefinition'],
  },
  Providers: {
    'provider.ts': [
      ...['ProviderAdapter', 'ProviderRequest', 'ParameterChange', 'OutgoingRequest', 'StreamReader'],
      ...['FrameReader', 'OperationFormat', 'ProviderErrorResponse'],
    ],
    'chat-format.ts': ['ChatFormat', 'FieldRule'],
  },
}

/** Writes the tables of docs/exchange.md from the sources of the contract. */
export function writeContractTables(): string {
  const parts = Object.entries(CONTRACT_TYPES).map(([title, files]) => {
    const rows = Object.entries(files).flatMap(([file, names]) => {
      const source = readFileSync(new URL(`core/contract/${file}`, ROOT), 'utf8')
      return names.flatMap((name) => describeInterface(source, name))
    })
    return `## ${title}\n\n${toTable(['field', 'type', ''], rows)}`
  })
  return parts.join('\n')
}

/** A row for the interface, and one for each of its fields. */
function describeInterface(source: string, name: string): readonly (readonly string[])[] {
  const found = new RegExp(
    `(/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?(?:export )?(?:interface|type) ${name}\\b([^{]*)\\{\\n([\\s\\S]*?)^}`,
    'm',
  )
  const [, comment = '', heritage = '', body = ''] = found.exec(source) ?? []
  const rows = listFields(body).map(([field, type, text]) => [`\`${field}\``, `\`${type}\``, text])
  if (rows.length === 0) throw new Error(`The contract has no interface ${name}.`)
  const [, bases] = /\bextends ([A-Z][^=]*?)\s*$/.exec(heritage.replace(/^<[\s\S]*>\s/, '')) ?? []
  return [
    [`**${name}**`, bases === undefined ? '' : `extends \`${bases}\``, textOf(comment)],
    ...joinUndescribed(rows),
  ]
}

/** Lets neighbours without a description share a row. */
function joinUndescribed(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const joined: (readonly string[])[] = []
  for (const [field = '', type = '', text = ''] of rows) {
    const [fields = '', types = '', before] = joined.at(-1) ?? []
    if (text === '' && before === '')
      joined[joined.length - 1] = [`${fields}, ${field}`, `${types}, ${type}`, '']
    else joined.push([field, type, text])
  }
  return joined
}

/** The fields of an interface with their types and comments; a method has the type of a function. */
export function listFields(body: string): readonly (readonly [field: string, type: string, text: string])[] {
  const member = new RegExp(
    '(/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?' +
      '^ {2}(?:readonly )?(\\w+)\\??(?:<\\w+>)?(\\(.*\\)|\\(\\n(?: {4}.*\\n)+ {2}\\))?: (.+)$',
    'gm',
  )
  return [...body.matchAll(member)].map(([, comment = '', field = '', parameters, type = '']) => {
    const result = type === '{' ? 'object' : type
    const given = parameters
      ?.replace(/\s*\n\s*/g, ' ')
      .replace(/^\( |,? ?\)$/g, (text) => text.trim().replace(',', ''))
    return [
      field,
      given === undefined ? result.replace(' | undefined', '') : `${given} => ${result}`,
      textOf(comment),
    ]
  })
}

/** The text of a doc comment in one line. */
function textOf(comment: string): string {
  return comment
    .replace(/^\s*\/\*\*|\*\/\s*$/g, '')
    .replace(/\n\s*\* ?/g, ' ')
    .trim()
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`)
    .join('')
}
