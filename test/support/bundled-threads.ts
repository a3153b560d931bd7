import { existsSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'

const COMPILED = new URL('../../', import.meta.url).href
const { Worker } = threads

/**
 * Mocha loads this module for compiled tests. Gateways in the process of a test start threads from the
 * bundle, as the program does: loading a thread's modules one by one takes twice as much CPU time.
 */
threads.Worker = class extends Worker {
  constructor(script: string | URL, options?: threads.WorkerOptions) {
    const bundled = new URL(String(script).replace(COMPILED, `${COMPILED}program/`), COMPILED)
    const isCompiled = script instanceof URL && script.href.startsWith(COMPILED)
    super(isCompiled && existsSync(bundled) ? bundled : script, options)
  }
}
syncBuiltinESMExports()
