import type { Writable } from 'node:stream'
import { findNearest } from '../../core/util/find-nearest.ts'
import { readVersion } from '../../core/util/package-folder.ts'
import type { Environment } from '../settings/environment.ts'
import { type Command, UsageError } from './command.ts'
import { formatCommandHelp, formatHelp, formatSynopsis, type OptionToken, splitArgs } from './command-line.ts'
import { COMMANDS } from './commands.ts'

/**
 * Runs the program with these arguments. Throws a `UsageError` that says what is wrong and where to read on
 * if they are invalid. It never shows the value of an option, which may be a misplaced secret.
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
  const asksForHelp = words[0] === 'help'
  if (asksForHelp) words.shift()
  const command = findCommand(words)
  if (asksForHelp || given.has('help')) return print(command ? formatCommandHelp(command) : helpOf(words[0]))
  if (command === undefined) throw describeUnknownCommand(words, options)
  try {
    const values = checkOptions(command, options)
    const operands = checkOperands(command, words)
    await command.run({ operands, options: values, environment, print, stdout })
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`${error.message}\nSee "signalbox ${command.name} --help".`)
  }
}

function findCommand(words: readonly string[]): Command | undefined {
  return COMMANDS.find(({ name }) => {
    const parts = name.split(' ')
    return parts.every((part, index) => part === words[index])
  })
}

/** The commands that begin with this word. */
function listGroup(word: string | undefined): readonly Command[] {
  return COMMANDS.filter(({ name }) => name.split(' ')[0] === word)
}

function helpOf(word: string | undefined): string {
  const group = listGroup(word)
  return group.length > 0 ? formatHelp(group, word) : formatHelp(COMMANDS)
}

function describeUnknownCommand(words: readonly string[], [option]: readonly OptionToken[]): UsageError {
  const [first, second] = words
  if (first === undefined && option)
    return new UsageError(`Unknown option "${option.rawName}".\nSee "signalbox --help".`)
  if (first === undefined) return new UsageError(`A command is required.\n\n${helpOf(first)}`)
  const group = listGroup(first)
  if (group.length > 0 && second === undefined)
    return new UsageError(`A command of "${first}" is required.\n\n${helpOf(first)}`)
  const word = words.slice(0, 2).join(' ')
  const names = COMMANDS.map(({ name }) => name)
  const groups = names.map((name) => name.split(' ')[0] ?? '')
  const nearest = findNearest(word, names) ?? findNearest(first, group.length > 0 ? [] : groups)
  const advice = nearest === undefined ? '' : ` Did you mean "${nearest}"?`
  const help = group.length > 0 ? `${first} --help` : '--help'
  return new UsageError(`Unknown command "${word}".${advice}\nSee "signalbox ${help}".`)
}

function checkOperands(command: Command, words: readonly string[]): readonly string[] {
  const { name, operands = [] } = command
  const values = words.slice(name.split(' ').length)
  const missing = operands.find((operand, index) => !operand.startsWith('[') && !values[index])
  if (missing !== undefined)
    throw new UsageError(`${missing} is missing: signalbox ${formatSynopsis(command)}.`)
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
    if (option === undefined) {
      const nearest = findNearest(name, Object.keys(known))
      const advice = nearest === undefined ? '' : ` Did you mean "--${nearest}"?`
      throw new UsageError(`Unknown option "${rawName}" of "signalbox ${commandName}".${advice}`)
    }
    if (option.value !== undefined && !value) throw new UsageError(`Option --${name} requires a value.`)
    if (option.value === undefined && value !== undefined)
      throw new UsageError(`Option --${name} does not take a value.`)
    values.set(name, value ?? '')
  }
  const missing = Object.entries(known).find(([name, { isRequired }]) => isRequired && !values.has(name))
  if (missing) throw new UsageError(`Option --${missing[0]} is required.`)
  return values
}
