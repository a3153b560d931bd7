import type { Context } from 'mocha'

/** Skips the running test or, in a hook, the tests of its suite, and prints why. */
export function skip(context: Context, reason: string): never {
  process.stdout.write(`      skipped: ${reason}\n`)
  return context.skip()
}
