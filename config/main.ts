#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { isLogStuck } from '../core/threads/log-destination.ts'
import { endIfThreadsAreStuck } from '../core/threads/thread.ts'
import { describeFailure } from './cli/describe-failure.ts'
import { ignoreOutputErrors } from './cli/output.ts'
import { runProgram } from './cli/run-program.ts'

// V8 learns under load which allocation sites produce long-lived objects and allocates those directly in the
// old generation. There they keep whole requests alive until the next full collection. In about every second
// process, a request then took half as long again.
setFlagsFromString('--no-allocation-site-pretenuring')

ignoreOutputErrors()
try {
  await runProgram(process.argv.slice(2), { ...process.env })
} catch (error) {
  const { message, exitCode } = describeFailure(error)
  if (message !== '' && !isLogStuck()) process.stderr.write(`${message}\n`)
  process.exitCode = exitCode
}
endIfThreadsAreStuck()
// A banner that nobody reads would keep the process alive.
if (isLogStuck()) process.exit()
