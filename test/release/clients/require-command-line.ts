import type { Context } from 'mocha'
import { skip } from '../../support/skip.ts'
import { type CommandLinePrograms, findCommandLine } from './languages/javascript.ts'

const INSTALL = 'npm run test:clients -- --install js/codex js/claude-code'

/** Returns the clients, or skips the suite if they are not installed; fails instead if CI is set. */
export async function requireCommandLine(context: Context): Promise<CommandLinePrograms> {
  const found = await findCommandLine()
  if (found !== undefined) return found
  if (process.env.CI) throw new Error(`The command-line clients are required in CI: ${INSTALL}`)
  return skip(context, `the command-line clients are not installed: ${INSTALL}`)
}
