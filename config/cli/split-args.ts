import { parseArgs } from 'node:util'
import type { Command } from './command.ts'

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
): { words: readonly string[]; options: readonly OptionToken[] } {
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
