#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { GatewayError } from '../core/contract/index.ts'
import { runCommand, UsageError } from './cli/run-command.ts'
import { SettingsError } from './settings/settings.ts'

// V8 would learn from what is alive at some moment under load to put such objects among the old ones at once. There they keep alive what
// they refer to, whole requests, until the next full collection: about every second process took half as long again for a request.
setFlagsFromString('--no-allocation-site-pretenuring')

// V8 takes the room for young objects back from a process that is idle, and then doubles it step by step, while requests under way are taken
// for old ones: the first second of a burst took half as long again for a request. This gives it back in one step.
setFlagsFromString('--semi-space-growth-factor=16')

try {
  await runCommand(process.argv.slice(2), { ...process.env })
} catch (error) {
  process.stderr.write(`${describe(error)}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

/** One sentence for what the user can mend; the stack only for what nobody foresaw. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isForeseen =
    error instanceof UsageError || error instanceof SettingsError || GatewayError.isInstance(error)
  return isForeseen || !process.env.DEBUG ? error.message : (error.stack ?? error.message)
}
