import { parseArgs } from 'node:util'
import type { Command } from './command.ts'

/** The help of the program, or of a group of its commands. */
export function formatHelp(commands: readonly Command[], group?: string): string {
  const rows = commands.map((command) => [formatSynopsis(command), command.summary] as const)
  const prefix = group === undefined ? '' : `${group} `
  return [
    `Usage: signalbox ${prefix}<command> [options]`,
    '',
    'Commands:',
    ...formatRows(rows),
    '',
    `"signalbox ${prefix}<command> --help" shows the options of a command.`,
    ...(group === undefined ? PROGRAM_HELP : []),
  ].join('\n')
}

const PROGRAM_HELP = [
  '"signalbox --version" shows the version.',
  'Settings come from environment variables and from the file that CONFIG names.',
  'See docs/commands.md and docs/guides/settings.md.',
]

export function formatCommandHelp(command: Command): string {
  const { options = {}, summary, details } = command
  const rows = Object.entries(options).map(([name, { value = '', summary, isRequired }]) => {
    return [`--${name} ${value}`.trimEnd(), isRequired ? `${summary} Required.` : summary] as const
  })
  return [
    formatUsage(command),
    '',
    summary,
    ...(details === undefined ? [] : [details]),
    '',
    'Options:',
    ...formatRows([...rows, ['--help', 'Show this help.']]),
  ].join('\n')
}

/** `Usage: signalbox users add --name NAME --plan PLAN [--reason TEXT]` */
function formatUsage(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, { value, isRequired }]) => {
    const option = value === undefined ? `--${name}` : `--${name} ${value}`
    return isRequired ? option : `[${option}]`
  })
  return `Usage: ${['signalbox', formatSynopsis(command), ...options].join(' ')}`
}

export function formatSynopsis({ name, operands = [] }: Command): string {
  return [name, ...operands].join(' ')
}

function formatRows(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

export interface OptionToken {
  readonly name: string
  /** As on the command line, without the value: `--name` or `-n`. */
  readonly rawName: string
  readonly value: string | undefined
}

/** Splits arguments into options and other words. Does not check whether the options exist. */
export function splitArgs(
  args: readonly string[],
  commands: readonly Command[],
): { words: string[]; options: readonly OptionToken[] } {
  const { tokens } = parseArgs({
    args: [...args],
    options: { help: { type: 'boolean', short: 'h' }, ...listOptionTypes(commands) },
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  return {
    words: tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : [])),
    options: tokens.flatMap((token) => {
      if (token.kind !== 'option') return []
      // "--name --plan" is a missing value, not the value "--plan".
      const isMissing = !token.inlineValue && token.value?.startsWith('-')
      return [{ name: token.name, rawName: token.rawName, value: isMissing ? undefined : token.value }]
    }),
  }
}

/** Only options that take a value need a declaration. Commands share their names. */
function listOptionTypes(commands: readonly Command[]): Record<string, { type: 'string' }> {
  const names = commands.flatMap(({ options = {} }) =>
    Object.entries(options).flatMap(([name, { value }]) => (value === undefined ? [] : [name])),
  )
  return Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
}
