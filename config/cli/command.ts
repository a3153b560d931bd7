import type { Writable } from 'node:stream'
import type { Environment } from '../settings/environment.ts'

/** A command of the program, as listed by `signalbox --help`. */
export interface Command {
  /** One or two words, such as `users add`. */
  readonly name: string
  /** Names of the operands in order, such as `USER`; optional ones, in brackets, come last. */
  readonly operands?: readonly string[]
  /** One line for the list of commands. */
  readonly summary: string
  /** Further sentences for the help of the command. */
  readonly details?: string
  readonly options?: Readonly<Record<string, CommandOption>>
  /** Output for programs goes to stdout. Throws a `UsageError` for invalid operands or options. */
  run(args: CommandArgs): Promise<void>
}

interface CommandOption {
  readonly summary: string
  /** Name of the value in the help, such as `NAME`. An option without one is a flag. */
  readonly value?: string
  readonly isRequired?: boolean
}

export interface CommandArgs {
  /** At most as many as the command declares; optional ones may be missing. */
  readonly operands: readonly string[]
  /** Values of the options that were given; `''` for a flag. */
  readonly options: ReadonlyMap<string, string>
  readonly environment: Environment
  /** Writes a line to stdout. */
  print(line: string): void
  readonly stdout: Writable
}

/**
 * The command line is invalid. The program prints the message with the help of the command and exits with 2.
 */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/**
 * The command has compared, and printed the differences. The program prints the message, if there is one, and
 * exits with 2.
 */
export class DifferencesError extends Error {
  constructor(message = '') {
    super(message)
    this.name = 'DifferencesError'
  }
}
