import type { Command } from './command.ts'

/** The help of the program, or of a group of its commands. */
export function formatHelp(commands: readonly Command[]): string {
  const rows = commands.map((command) => [formatSynopsis(command), command.summary] as const)
  return [
    'Usage: signalbox <command> [options]',
    '',
    'Commands:',
    ...formatRows(rows),
    '',
    'Options:',
    ...formatRows([
      ['--help', 'Show this help, or the help of a command.'],
      ['--version', 'Show the version.'],
    ]),
    '',
    'Settings come from environment variables and from the file that CONFIG names.',
    'See docs/guides/settings.md.',
  ].join('\n')
}

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
export function formatUsage(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, { value, isRequired }]) => {
    const option = value === undefined ? `--${name}` : `--${name} ${value}`
    return isRequired ? option : `[${option}]`
  })
  return `Usage: ${['signalbox', formatSynopsis(command), ...options].join(' ')}`
}

function formatSynopsis({ name, operands = [] }: Command): string {
  return [name, ...operands].join(' ')
}

function formatRows(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
