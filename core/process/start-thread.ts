import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * Starts a module in a worker thread, compiled or from source. `name` is the module's relative path without
 * extension, `base` the URL of the importing module.
 */
export function startThread(name: string, base: string, options: WorkerOptions = {}): Worker {
  const extension = extname(base)
  const script = new URL(name + extension, base)
  return new Worker(script, extension === '.ts' ? { ...options, execArgv: tsxArguments(base) } : options)
}

/** On Node 20, tsx does not register itself in worker threads (privatenumber/tsx#354). */
function tsxArguments(base: string): string[] {
  const hooks = JSON.stringify(pathToFileURL(createRequire(base).resolve('tsx/esm')))
  return [
    '--import',
    `data:text/javascript,import { register } from 'node:module'; register(${hooks}, { data: {} })`,
  ]
}
