import type { Writable } from 'node:stream'
import type { Environment } from '../settings/environment.ts'
import { readVersion } from '../settings/shipped-files.ts'
import { type Command, UsageError } from './command.ts'
import { COMMANDS } from './commands.ts'
import { formatCommandHelp, formatHelp } from './help.ts'
import { type OptionToken, splitArgs } from './split-args.ts'

/**
 * Runs the program with these arguments. Throws a `UsageError` that contains the help if they are invalid. It
 * never shows the value of an option, which may be a misplaced secret.
 */
export async function runProgram(
  args: readonly string[],
  environment: Environment,
  stdout: Writable = process.stdout,
): Promise<void> {
  const print = (line: string) => void stdout.write(`${line}\n`)
  const { words, options } = splitArgs(args, COMMANDS)
  const given = new Set(options.map(({ name }) => name))
  if (given.has('version')) return print(readVersion())
  const command = findCommand(words)
  const help = command ? formatCommandHelp(command) : formatHelp(listGroup(words[0]))
  if (given.has('help')) return print(help)
  try {
    if (command === undefined) throw new UsageError(describeUnknownCommand(words, options))
    const values = checkOptions(command, options)
    const operands = checkOperands(command, words)
    await command.run({ operands, options: values, environment, print, stdout })
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${error.message}\n\n${help}`) : error
  }
}

function findCommand(words: readonly string[]): Command | undefined {
  return COMMANDS.find(({ name }) => {
    const parts = name.split(' ')
    return parts.every((part, index) => part === words[index])
  })
}

/** The commands that begin with this word, or all commands if there are none. */
function listGroup(word: string | undefined): readonly Command[] {
  const group = COMMANDS.filter(({ name }) => name.split(' ')[0] === word)
  return group.length > 0 ? group : COMMANDS
}

function describeUnknownCommand(words: readonly string[], [option]: readonly OptionToken[]): string {
  if (words.length > 0) return `Unknown command "${words.slice(0, 2).join(' ')}".`
  return option ? `Unknown option "${option.rawName}".` : 'A command is required.'
}

function checkOperands({ name, operands = [] }: Command, words: readonly string[]): readonly string[] {
  const values = words.slice(name.split(' ').length)
  const missing = operands.find((_, index) => !values[index])
  if (missing !== undefined) throw new UsageError(`${missing} is missing.`)
  if (values.length > operands.length) throw new UsageError(`Unexpected operand for "signalbox ${name}".`)
  return values
}

function checkOptions(
  { name: commandName, options: known = {} }: Command,
  given: readonly OptionToken[],
): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const { name, rawName, value } of given) {
    const option = Object.hasOwn(known, name) ? known[name] : undefined
    if (option === undefined)
      throw new UsageError(`Unknown option "${rawName}" of "signalbox ${commandName}".`)
    if (option.value !== undefined && !value) throw new UsageError(`Option --${name} requires a value.`)
    if (option.value === undefined && value !== undefined)
      throw new UsageError(`Option --${name} does not take a value.`)
    values.set(name, value ?? '')
  }
  const missing = Object.entries(known).find(([name, { isRequired }]) => isRequired && !values.has(name))
  if (missing) throw new UsageError(`Option --${missing[0]} is required.`)
  return values
}
